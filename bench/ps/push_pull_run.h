// Servers and workers of a push-pull test as processes of this machine: started, watched, their
// line collected.
#ifndef CROSSOVER_BENCH_PS_PUSH_PULL_RUN_H_
#define CROSSOVER_BENCH_PS_PUSH_PULL_RUN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/ps/push_pull_plan.h"
#include "bench/ps/push_pull_record.h"
#include "core/clock.h"
#include "experiments/launch/signal_waiter.h"
#include "experiments/launch/site.h"

namespace crossover::bench {

struct PushPullRunOptions {
  PushPullPlan plan;
  std::string directory;      // for logs, the job and the token; exists
  std::string worker_binary;  // //bench:ps_worker
  std::string server_binary;  // //ps:server
  experiments::Sites sites;
  double time_s = 3600;  // for all of it
  // For tests: called with the process ids, servers' and then workers', as soon as all have been
  // started.
  std::function<void(const std::vector<int>&)> on_started;
};

// Blocks to the end; then all processes have ended. Errors: one line that names the process that
// was lost or failed and why; CANCELLED after SIGINT or SIGTERM.
absl::StatusOr<PushPullRecord> RunPushPull(const PushPullRunOptions& options,
                                           experiments::SignalWaiter& signals, Clock& clock);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_PS_PUSH_PULL_RUN_H_
