// When a server applies contributions and when it lets a worker go on: the whole
// difference between the parameter-server strategies. Pure values.
//
//                    contributions    lead    what is pushed
//   ps_sync          workers          0       gradients
//   ps_backup        workers - b      none    gradients; those of a closed step are dropped
//   ps_ssp           1                s       gradients
//   ps_async         1                none    gradients
//   ps_async_dc      1                none    gradients, corrected for their delay
//   ps_async_scaled  1                none    gradients, at a rate that falls with staleness
//   ps_elastic       1                none    parameters, which draw the centre towards them
//   ps_groups        1                none    gradients, by the first of each group
//   local_sgd        workers          0       parameters (averaged)
#ifndef CROSSOVER_PS_POLICY_H_
#define CROSSOVER_PS_POLICY_H_

#include <cstdint>
#include <limits>

#include "proto/job.pb.h"

namespace crossover::ps {

enum class Pushed { kGradients, kParameters };

struct Policy {
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

  int workers = 1;
  // Of each so many workers of consecutive ranks the first pushes, for all of them.
  int group_size = 1;
  // Contributions that make one update, averaged: all workers' or one, or with drops_late some.
  int contributions = 1;
  // Version v of a part is step v: a push from an older version has come after its step closed
  // and is not applied, and its worker goes on with the step that is open (OpenStep).
  bool drops_late = false;
  // Of one contribution: lambda of g + lambda g g (w_now - w_pulled); 0: g as it is.
  double delay_compensation = 0;
  // Of one contribution: its learning rate is divided by max(1, its staleness).
  bool rate_falls_with_staleness = false;
  // A worker that has pushed step t gets its reply, and so may begin step t+1, once
  // the slowest worker has completed (pushed) at least t+1-lead steps. Where an
  // update needs all workers' contributions, the reply also waits for that update.
  int64_t lead_steps_max = kUnbounded;
  Pushed pushed = Pushed::kGradients;
  // Of parameters of one worker: the part of their distance that the servers' move towards them
  // (core/elastic_averaging.h); 0: those pushed, averaged, take the servers' place.
  double elastic_rate = 0;
  // The mean of an update's contributions is clipped to this norm over all parts
  // (core/gradient_norm.h), which no part knows alone: it tells its sum of squares and applies the
  // mean when it has been told the norm. 0: it applies the mean at once.
  double clip_norm = 0;
  // Sum the contributions of an update in rank order, whatever order they come in.
  bool rank_order = false;
};

inline bool Pushes(const Policy& policy, int worker) { return worker % policy.group_size == 0; }

// The policy of a validated job whose strategy uses servers.
Policy PolicyFor(const proto::Job& job);

// The step with which a worker goes on that has done `step` and now has parts of versions from
// `oldest_version` on. With drops_late it leaves out steps that closed without it, so all workers
// end together after as many updates as the job has steps; the oldest version of its parts is
// larger after each step, since every answered push has seen its version replaced.
int64_t OpenStep(const Policy& policy, int64_t step, int64_t oldest_version);

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_POLICY_H_
