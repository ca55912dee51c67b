// A parameter server's state and rules, pure: no sockets, threads or clocks, so
// that every consistency rule can be tested, replayed from a seed and simulated.
// Sync, bounded-stale and async are one state machine with different numbers
// (ps/policy.h): how many contributions make an update, and how far ahead of the
// slowest a worker may be when its reply leaves.
//
// Every part of the shard is a state machine of its own: contributions, versions
// and releases are counted part by part, so parts need no common lock and travel
// independently.
#ifndef CROSSOVER_PS_SHARD_H_
#define CROSSOVER_PS_SHARD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/histogram.h"
#include "core/learning_rate.h"
#include "core/shard_plan.h"
#include "proto/job.pb.h"
#include "ps/policy.h"

namespace crossover::ps {

// A reply that may leave now: the part's parameters as they are, of this version,
// to this worker, for its push of `step`.
struct Release {
  int worker = 0;
  int64_t step = 0;
  int64_t version = 0;  // updates applied to the part
  int64_t lead_steps = 0;  // of this worker over the slowest, when it left
};

// The outcome of one push.
struct PushResult {
  std::vector<Release> released;  // this worker's reply and those it set free
  bool applied = false;
  int64_t staleness = 0;          // of this push; meaningful when it is applied alone
  bool held = false;              // this worker's own reply is not among the released
};

// Not thread-safe: one lock or thread per instance. A server may run several
// instances over disjoint parts.
class ShardPart {
 public:
  // `length` values; rules and optimizer from the job (validated).
  ShardPart(const proto::Job& job, const Policy& policy, int64_t length, int64_t total_steps);
  ~ShardPart();
  ShardPart(ShardPart&&) noexcept;

  // Sets the parameters (rank 0's, before step 0). size == length.
  void Initialize(std::span<const float> parameters);
  bool initialized() const;

  // One worker's contribution for its step `step` (counted from 0, one after the
  // other for each worker), computed from `version`. `payload`: little-endian fp32,
  // any alignment. Refuses (and changes nothing) wrong sizes, a worker out of range,
  // a step that is not this worker's next, a version that never was, a push before Initialize.
  absl::StatusOr<PushResult> Push(int worker, int64_t step, int64_t version,
                                  std::span<const std::byte> payload);

  // The worker sends no more: it no longer holds others back.
  std::vector<Release> Leave(int worker);

  std::span<const float> parameters() const;
  int64_t version() const;
  int64_t state_bytes() const;
  const Histogram& staleness() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_SHARD_H_
