// Gradients are summed over all workers by a collective, bucket by bucket, while
// the backward pass still runs; every worker then divides the sum by the
// contributors and applies the same update. Without a collective it is the
// single process: the trainer has summed the shards' gradients already.
//
//   bucket ready -> collectives' thread: AllReduce, several buckets in flight
//   EndStep: for each bucket in order: wait for its sum, scale, optimizer; where gradients are
//            clipped, the optimizer after all buckets, since the norm is of all
#ifndef CROSSOVER_WORKER_STRATEGIES_ALLREDUCE_STRATEGY_H_
#define CROSSOVER_WORKER_STRATEGIES_ALLREDUCE_STRATEGY_H_

#include <cstdint>
#include <memory>

#include "core/optimizer.h"
#include "core/strategy.h"
#include "worker/strategies/bucket_sums.h"
#include "worker/strategies/strategy_context.h"

namespace crossover::worker {

class AllReduceStrategy final : public Strategy {
 public:
  explicit AllReduceStrategy(const StrategyContext& context);

  absl::Status Start() override;
  void BeginStep(int64_t step) override;
  void BucketReady(int bucket) override;
  absl::Status EndStep() override;
  absl::Status Finish() override;
  StrategyCounters counters() const override;

 private:
  void Update(const Bucket& bucket);

  const StrategyContext context_;
  Optimizer optimizer_;
  int64_t step_ = 0;
  int64_t steps_done_ = 0;
  allreduce::StreamCounters at_start_;
  std::unique_ptr<BucketSums> sums_;  // null without a communicator
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_STRATEGIES_ALLREDUCE_STRATEGY_H_
