// Each worker takes H optimizer steps of its own; then the parameters are
// averaged, by a collective or by the servers, and the outer optimizer takes its
// step (core/averaging.h). Gradients never travel; the inner optimizer's state
// stays with its worker.
//
//   EndStep: optimizer; if the schedule says so: average
//   Finish: average once more unless the last step did
#ifndef CROSSOVER_WORKER_STRATEGIES_LOCAL_STRATEGY_H_
#define CROSSOVER_WORKER_STRATEGIES_LOCAL_STRATEGY_H_

#include <vector>

#include "core/averaging.h"
#include "core/optimizer.h"
#include "core/strategy.h"
#include "worker/strategies/strategy_context.h"

namespace crossover::worker {

class LocalStrategy final : public Strategy {
 public:
  explicit LocalStrategy(const StrategyContext& context);

  absl::Status Start() override;
  void BeginStep(int64_t step) override { step_ = step; }
  void BucketReady(int) override {}
  absl::Status EndStep() override;
  absl::Status Finish() override;
  StrategyCounters counters() const override;

 private:
  absl::Status Average();
  absl::Status AverageThroughCollective();
  absl::Status AverageThroughServers();

  const StrategyContext context_;
  const AveragingSchedule schedule_;
  Optimizer inner_;
  OuterOptimizer outer_;
  std::vector<float> anchor_;  // parameters after the last averaging; empty if outer_ is plain
  int64_t step_ = 0;
  int64_t rounds_ = 0;
  bool averaged_ = true;  // nothing has been changed locally since the last averaging
  int64_t sent_at_start_ = 0;
  int64_t received_at_start_ = 0;
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_STRATEGIES_LOCAL_STRATEGY_H_
