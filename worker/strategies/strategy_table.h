// The one place where a strategy's name becomes a class.
#ifndef CROSSOVER_WORKER_STRATEGIES_STRATEGY_TABLE_H_
#define CROSSOVER_WORKER_STRATEGIES_STRATEGY_TABLE_H_

#include <memory>

#include "core/strategy.h"
#include "worker/strategies/strategy_context.h"

namespace crossover::worker {

// For context.job.strategy(); the job has been validated, so every name is known.
std::unique_ptr<Strategy> MakeStrategy(const StrategyContext& context);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_STRATEGIES_STRATEGY_TABLE_H_
