// One worker's part in timing a size: steps whose every element is checked, then steps that are
// timed, then checked ones again, which also show whether the timed ones have added up. Where
// nobody waits for another (ps_async) a reply holds whatever pushes had come by then; what is
// checked is what everybody pulls once all have pushed.
#ifndef CROSSOVER_BENCH_PS_PUSH_PULL_H_
#define CROSSOVER_BENCH_PS_PUSH_PULL_H_

#include <sys/types.h>

#include <vector>

#include "absl/status/statusor.h"
#include "bench/ps/push_pull_plan.h"
#include "bench/ps/push_pull_record.h"
#include "bench/shared/control.h"
#include "core/timeline.h"
#include "ps/client.h"

namespace crossover::bench {

struct PushPullSubject {
  ps::Client* client = nullptr;  // connected; borrowed
  Timeline* timeline = nullptr;  // the client's; borrowed
  // Servers on this machine, for their CPU time and memory. Read by rank 0; may be empty.
  std::vector<pid_t> server_pids;
};

// Called by all workers; blocks to the end, with the same record on each (without what only the
// launcher knows: network, placement, round).
absl::StatusOr<PushPullRecord> MeasurePushPull(const PushPullPlan& plan, Control& control,
                                               const PushPullSubject& subject);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_PS_PUSH_PULL_H_
