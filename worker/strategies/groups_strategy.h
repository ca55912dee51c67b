// Groups of workers that are synchronous within and asynchronous among each other (ps_groups): a
// group's gradients are averaged by AllReduce, beneath the backward pass; its leader, the
// communicator's rank 0, pushes the mean to the servers, which apply it as it comes, and sends the
// parameters of the replies to the group.
//
//   bucket ready -> AllReduce within the group
//   EndStep: as buckets are summed the leader pushes them; replies; broadcast
#ifndef CROSSOVER_WORKER_STRATEGIES_GROUPS_STRATEGY_H_
#define CROSSOVER_WORKER_STRATEGIES_GROUPS_STRATEGY_H_

#include <cstdint>
#include <memory>

#include "core/strategy.h"
#include "worker/strategies/bucket_sums.h"
#include "worker/strategies/strategy_context.h"

namespace crossover::worker {

class GroupsStrategy final : public Strategy {
 public:
  // The context's communicator is of this worker's group alone.
  explicit GroupsStrategy(const StrategyContext& context) : context_(context) {}

  absl::Status Start() override;
  void BeginStep(int64_t step) override;
  void BucketReady(int bucket) override { sums_->Ready(bucket); }
  absl::Status EndStep() override;
  absl::Status Finish() override;
  StrategyCounters counters() const override;

 private:
  bool Leads() const { return context_.servers != nullptr; }
  absl::Status InGroup(const absl::Status& status) const;
  absl::Status PushSums();
  StrategyCounters Count() const;  // since the links were opened

  const StrategyContext context_;
  int64_t steps_done_ = 0;
  std::unique_ptr<BucketSums> sums_;
  StrategyCounters at_start_;
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_STRATEGIES_GROUPS_STRATEGY_H_
