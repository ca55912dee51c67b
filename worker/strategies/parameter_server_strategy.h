// Gradients are pushed to the servers, bucket by bucket, while the backward pass
// still runs; the servers apply the optimizer and answer with parameters. Whether
// an answer waits for the other workers is the servers' policy (ps/policy.h), so
// sync, bounded-stale and async are the same code here.
//
//   bucket ready -> push its parts; a reply is written into the parameters
//   EndStep: wait until every part has been answered
// Where each push is an update and gradients are clipped, pushes wait for EndStep, since the norm
// is of all buckets.
#ifndef CROSSOVER_WORKER_STRATEGIES_PARAMETER_SERVER_STRATEGY_H_
#define CROSSOVER_WORKER_STRATEGIES_PARAMETER_SERVER_STRATEGY_H_

#include "core/strategy.h"
#include "ps/policy.h"
#include "worker/strategies/strategy_context.h"

namespace crossover::worker {

class ParameterServerStrategy final : public Strategy {
 public:
  explicit ParameterServerStrategy(const StrategyContext& context)
      : context_(context),
        policy_(ps::PolicyFor(context.job)),
        clips_here_(context.job.optimizer().clip_norm() > 0 && policy_.clip_norm == 0) {}

  absl::Status Start() override;
  void BeginStep(int64_t step) override;
  void BucketReady(int bucket) override;
  absl::Status EndStep() override;
  int64_t NextStep(int64_t step) const override;
  absl::Status Finish() override;
  StrategyCounters counters() const override;

 private:
  const StrategyContext context_;
  const ps::Policy policy_;
  const bool clips_here_;  // each worker's gradient by itself, not the servers their mean
  int64_t step_ = 0;
  int64_t steps_done_ = 0;
  ps::ClientCounters at_start_;
  ps::ClientCounters at_end_;
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_STRATEGIES_PARAMETER_SERVER_STRATEGY_H_
