// A parameter server's state and rules, pure: no sockets, threads or clocks, so
// that every consistency rule can be tested, replayed from a seed and simulated.
// Sync, bounded-stale and async are one state machine with different numbers
// (ps/policy.h): how many contributions make an update, and how far ahead of the
// slowest a worker may be when its reply leaves.
//
// Every part of the shard is a state machine of its own: contributions, versions
// and releases are counted part by part, so parts need no common lock and travel
// independently.
//
// With policy.clip_norm an update has two phases. The last contribution makes the mean, of which
// the part tells all contributors the sum of squares; each adds up those of all parts and comes
// back with the norm (GiveNorm). The first to do so makes the update, and each is answered when it
// does. Nobody waits for another worker in the second phase.
//
// What an update does with its contributions:
//   gradients    the fp32 sum divided by the contributions goes through the job's
//                optimizer, with the learning rate of the pushed step (where late pushes are
//                dropped: of the step that the update closes). A policy may correct one
//                contribution by its delay first: its gradient (DC-ASGD) or its rate;
//   parameters   of one worker in ps_elastic: they draw the parameters here, the centre, towards
//                them;
//   parameters   of all: the mean goes through LocalSGD's outer optimizer, or replaces the
//                parameters in the first phase and where the outer optimizer is
//                plain averaging. Steps of such pushes number the averagings: 0, 1,
//                2, ... In the first phase every step averages, so averaging r lies
//                in it iff r < first_phase_steps.
#ifndef CROSSOVER_PS_SHARD_H_
#define CROSSOVER_PS_SHARD_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/gradient_norm.h"
#include "core/histogram.h"
#include "proto/job.pb.h"
#include "ps/part_pool.h"
#include "ps/payload.h"
#include "ps/policy.h"

namespace crossover::ps {

// A reply that may leave now: the part's parameters as they are, of this version,
// to this worker, for its push of `step`.
struct Release {
  int worker = 0;
  int64_t step = 0;
  int64_t version = 0;     // updates applied to the part
  int64_t lead_steps = 0;  // of this worker over the slowest, when it left
  bool late = false;       // its push came after its step had closed, and was dropped
};

// The outcome of one push.
struct PushResult {
  std::vector<Release> released;  // by rank: this worker's reply and those it set free
  bool applied = false;           // this push made an update
  // It was an update's last, and these workers, by rank, are to be told squares().
  std::vector<int> told_squares;
  bool late = false;      // it was dropped
  int64_t staleness = 0;  // updates between the version it came from and its own
  bool held = false;      // its reply waits because of the lead (not for contributions)
};

// Sums over contributions to updates made by the optimizer.
struct RateSums {
  int64_t contributions = 0;
  double scheduled = 0;  // learning rates as the schedule and the policy's number of updates say
  double effective = 0;  // as applied
};

// What a worker's leaving brings about.
struct LeaveResult {
  std::vector<Release> released;  // by rank
  // Workers whose pushes wait for an update that now can never be complete, and why.
  std::vector<int> stranded;
  absl::Status failure;
};

// Not thread-safe: one lock or thread per instance. A server may run several
// instances over disjoint parts.
class ShardPart {
 public:
  // `length` values, at least one; rules and optimizer from the job (validated). The pool lends
  // what an update needs while it is made; without one the part has its own.
  ShardPart(const proto::Job& job, const Policy& policy, int64_t length, int64_t total_steps,
            std::shared_ptr<PartPool> pool = nullptr);
  ~ShardPart();
  ShardPart(ShardPart&&) noexcept;

  // Sets the parameters (rank 0's, before step 0). Refuses a wrong size and a second time.
  absl::Status Initialize(const Payload& parameters);
  bool initialized() const;
  // The worker (in range) has been given the parameters as they are without a push. Where gradients
  // are corrected by their delay, each worker's last copy is kept here: from initialisation, from
  // this, and from releases.
  void NotePull(int worker);

  // One worker's contribution for its step `step` (counted from 0, one after the
  // other for each worker; with drops_late in growing order), computed from `version`. Refuses
  // (and changes nothing) wrong sizes, a worker out of range or gone, a step that is not this
  // worker's next, a push while its last one is unanswered, a version that never was (or, where
  // all contribute, is not the present one), a push before Initialize, and one to an update
  // that can never be complete because workers have left. Late pushes (policy.h) are answered at
  // once, those for steps past the last too: so nobody waits for workers that have ended.
  absl::StatusOr<PushResult> Push(int worker, int64_t step, int64_t version,
                                  const Payload& payload);

  // The norm over all parts of the mean that waits here, from a worker (in range) that contributed
  // to it with its push of `step` and has been told squares(). The replies that it lets go.
  // Refuses (and changes nothing) where the worker is to give no norm, and one that is not what
  // others gave.
  absl::StatusOr<std::vector<Release>> GiveNorm(int worker, int64_t step, double norm);
  // Of the mean that waits, or waited last, for its norm.
  const SquareSum& squares() const;

  // The worker (in range) sends no more: it no longer holds others back, and is not
  // answered any more. A second time changes nothing.
  LeaveResult Leave(int worker);

  std::span<const float> parameters() const;
  int64_t version() const;
  // Bytes held beside the parameters: the optimizer's state, workers' copies. Sums and
  // contributions that wait are the pool's.
  int64_t state_bytes() const;
  // Of all applied pushes.
  const Histogram& staleness() const;
  const RateSums& rates() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_SHARD_H_
