// AllReduces of a step's buckets, each begun as soon as its gradients are final and several in
// flight beneath the backward pass. Belongs to the compute thread.
#ifndef CROSSOVER_WORKER_STRATEGIES_BUCKET_SUMS_H_
#define CROSSOVER_WORKER_STRATEGIES_BUCKET_SUMS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "allreduce/collective_thread.h"
#include "worker/strategies/strategy_context.h"

namespace crossover::worker {

// A bucket's stretch of a buffer.
std::span<float> BucketOf(const DeviceSpan& buffer, const Bucket& bucket);

class BucketSums {
 public:
  // `context` has a communicator, which nobody else uses while this lives; both outlive this. The
  // destructor finishes what is under way.
  explicit BucketSums(const StrategyContext& context);

  void BeginStep(int64_t step);
  // The bucket's gradients are final: they are summed in place. Never blocks.
  void Ready(int bucket);
  // Blocks until the bucket, which is ready, holds the sum.
  absl::Status Wait(const Bucket& bucket);
  // Blocks until all have `values` of the communicator's rank 0, after all sums so far.
  absl::Status Broadcast(std::span<float> values);

 private:
  const StrategyContext& context_;
  int64_t step_ = 0;
  std::vector<int64_t> sum_of_bucket_;  // its number in thread_, of this step; -1 until ready
  allreduce::CollectiveThread thread_;
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_STRATEGIES_BUCKET_SUMS_H_
