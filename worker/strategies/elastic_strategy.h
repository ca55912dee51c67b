// Elastic averaging (EASGD): each worker takes optimizer steps of its own; after every
// local_sgd.local_steps of them it and the centre, which the servers hold, are drawn together
// (core/elastic_averaging.h). Nobody waits for another worker. The result is the centre.
//
//   EndStep: optimizer; if it is time: push the parameters, take the centre from the replies, move
//   Finish: once more unless the last step did; then everyone takes the centre
#ifndef CROSSOVER_WORKER_STRATEGIES_ELASTIC_STRATEGY_H_
#define CROSSOVER_WORKER_STRATEGIES_ELASTIC_STRATEGY_H_

#include <cstdint>
#include <vector>

#include "core/optimizer.h"
#include "core/strategy.h"
#include "worker/strategies/strategy_context.h"

namespace crossover::worker {

class ElasticStrategy final : public Strategy {
 public:
  explicit ElasticStrategy(const StrategyContext& context);

  absl::Status Start() override;
  void BeginStep(int64_t step) override { step_ = step; }
  void BucketReady(int) override {}
  absl::Status EndStep() override;
  absl::Status Finish() override;
  StrategyCounters counters() const override;

 private:
  absl::Status Exchange();

  const StrategyContext context_;
  Optimizer inner_;
  std::vector<float> centre_;  // as the servers' replies bring it
  int64_t step_ = 0;
  int64_t exchanges_ = 0;
  bool exchanged_ = true;  // nothing has been changed locally since the last exchange
  ps::ClientCounters at_start_;
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_STRATEGIES_ELASTIC_STRATEGY_H_
