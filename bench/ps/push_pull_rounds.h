// What ps_test does: in every round the raw streams of its links, then each size through the
// servers and, if asked for, through our ring, in an order that changes from round to round; on
// loopback or in the network lab.
#ifndef CROSSOVER_BENCH_PS_PUSH_PULL_ROUNDS_H_
#define CROSSOVER_BENCH_PS_PUSH_PULL_ROUNDS_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "bench/comm/record.h"
#include "bench/ps/push_pull_record.h"
#include "bench/ps/push_pull_setup.h"
#include "core/clock.h"
#include "experiments/launch/signal_waiter.h"

namespace crossover::bench {

struct PushPullRoundsOptions {
  PushPullSetup setup;
  int64_t rounds = 1;
  int64_t first_round = 0;    // as lines count them, so that calls of one program stay apart
  std::string directory;      // for logs and the processes' files; exists
  std::string worker_binary;  // //bench:ps_worker
  std::string server_binary;  // //ps:server
  std::string comm_binary;    // //bench:comm_test, for raw streams on loopback and the ring
  // What is under way, a line each, and every line of results as it comes: our own, and those of
  // limits and of the ring.
  std::function<void(const std::string&)> say;
  std::function<void(const PushPullRecord&)> found;
  std::function<void(const Record&)> found_beside;
};

// Blocks to the end; then everything that was started has ended and the lab is gone. Errors: who
// failed; CANCELLED after SIGINT or SIGTERM.
absl::Status RunPushPullRounds(const PushPullRoundsOptions& options,
                               experiments::SignalWaiter& signals, Clock& clock);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_PS_PUSH_PULL_ROUNDS_H_
