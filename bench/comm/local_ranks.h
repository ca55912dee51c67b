// Our own ranks as processes of this machine: started, watched, and their lines collected.
#ifndef CROSSOVER_BENCH_COMM_LOCAL_RANKS_H_
#define CROSSOVER_BENCH_COMM_LOCAL_RANKS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/comm/record.h"
#include "bench/comm/test_plan.h"
#include "core/clock.h"
#include "experiments/signal_waiter.h"

namespace crossover::bench {

// Where a rank lives.
struct Place {
  std::string address = "127.0.0.1";  // on which it listens
  std::string network_namespace;      // of the network lab; "": the starter's own
};

struct LocalOptions {
  TestPlan plan;
  int ranks = 2;
  std::string directory;  // for logs and the token; exists
  std::string binary;     // comm_test
  std::string launcher_address = "127.0.0.1";
  std::vector<Place> places;  // rank r is at [r modulo size]
  double time_s = 3600;       // for all of it
  // For tests: called with the process ids, by rank, as soon as all have been started.
  std::function<void(const std::vector<int>&)> on_started;
};

// Blocks to the end; then all ranks have ended. Errors: one line that names the rank that was lost
// or failed and why; CANCELLED after SIGINT or SIGTERM.
absl::StatusOr<std::vector<Record>> RunLocalRanks(const LocalOptions& options,
                                                  experiments::SignalWaiter& signals, Clock& clock);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_LOCAL_RANKS_H_
