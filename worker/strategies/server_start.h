// What every strategy over servers does first: rank 0's parameters become everyone's.
#ifndef CROSSOVER_WORKER_STRATEGIES_SERVER_START_H_
#define CROSSOVER_WORKER_STRATEGIES_SERVER_START_H_

#include "absl/status/status.h"
#include "worker/strategies/strategy_context.h"

namespace crossover::worker {

// Rank 0 gives the servers its parameters; all then pull them. Blocks; bounded by
// the run's deadlines through the client's Abort.
absl::Status ShareFirstParameters(const StrategyContext& context);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_STRATEGIES_SERVER_START_H_
