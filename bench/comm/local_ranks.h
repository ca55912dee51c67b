// Our own ranks as processes, on this machine or on hosts that are reached by ssh: started,
// watched, and their lines collected.
#ifndef CROSSOVER_BENCH_COMM_LOCAL_RANKS_H_
#define CROSSOVER_BENCH_COMM_LOCAL_RANKS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/comm/record.h"
#include "bench/comm/test_plan.h"
#include "core/clock.h"
#include "experiments/launch/run_hosts.h"
#include "experiments/launch/signal_waiter.h"
#include "experiments/launch/site.h"

namespace crossover::bench {

struct LocalOptions {
  TestPlan plan;
  int ranks = 2;
  std::string directory;  // for logs and the token; exists
  std::string binary;     // comm_test
  experiments::Sites sites;
  experiments::RunHosts* hosts = nullptr;  // borrowed; null: this machine
  double time_s = 3600;                    // for all of it
  // For tests: called with the process ids, by rank, as soon as all have been started.
  std::function<void(const std::vector<int>&)> on_started;
};

// Blocks to the end; then all ranks have ended. Errors: one line that names the rank that was lost
// or failed and why; CANCELLED after SIGINT or SIGTERM.
absl::StatusOr<std::vector<Record>> RunLocalRanks(const LocalOptions& options,
                                                  experiments::SignalWaiter& signals, Clock& clock);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_LOCAL_RANKS_H_
