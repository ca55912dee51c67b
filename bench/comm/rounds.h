// What a communication test does on this machine: in every round our ranks and, if asked for, each
// of the peers once, one after the other and in a rotating order, on loopback or in the network
// lab.
#ifndef CROSSOVER_BENCH_COMM_ROUNDS_H_
#define CROSSOVER_BENCH_COMM_ROUNDS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/comm/record.h"
#include "bench/comm/test_plan.h"
#include "core/clock.h"
#include "experiments/launch/run_hosts.h"
#include "experiments/launch/signal_waiter.h"
#include "experiments/launch/site.h"

namespace crossover::bench {

struct RoundsOptions {
  std::vector<TestPlan> plans;  // each of them is run in every round
  int ranks = 2;
  int rounds = 1;
  int first_round = 0;     // as lines count them, so that calls of one program stay apart
  std::string network;     // the lab's spec (lab/network_spec.h); "": none
  int ranks_per_node = 1;  // in the lab: neighbours by rank; less than `ranks`
  // Without a lab: where the ranks are, and who starts them (LocalOptions).
  experiments::Sites sites;
  experiments::RunHosts* hosts = nullptr;
  std::string peers;      // PeerRuns' `wanted`; "": none
  std::string programs;   // where the peers' programs are, or are built first
  std::string directory;  // for logs and the ranks' files; exists
  std::string binary;     // comm_test
  // What is under way, a line each, and every line of results as it comes.
  std::function<void(const std::string&)> say;
  std::function<void(const Record&)> found;
  std::function<void(const std::vector<int>&)> on_started;  // LocalOptions::on_started
};

// Blocks to the end; then everything that was started has ended and the lab is gone. Errors: who
// failed; CANCELLED after SIGINT or SIGTERM.
absl::Status RunRounds(const RoundsOptions& options, experiments::SignalWaiter& signals,
                       Clock& clock);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_ROUNDS_H_
