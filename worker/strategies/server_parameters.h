// What strategies over servers begin and end with: rank 0's parameters become everyone's, and so
// do the servers' last.
#ifndef CROSSOVER_WORKER_STRATEGIES_SERVER_PARAMETERS_H_
#define CROSSOVER_WORKER_STRATEGIES_SERVER_PARAMETERS_H_

#include "absl/status/status.h"
#include "worker/strategies/strategy_context.h"

namespace crossover::worker {

// Rank 0 gives the servers its parameters; all then pull them. Blocks; bounded by
// the run's deadlines through the client's Abort.
absl::Status ShareFirstParameters(const StrategyContext& context);

// Where pushes of others may still change what this worker holds: waits until all have made their
// last, and takes the parameters as they are then. Blocks, bounded.
absl::Status TakeLastParameters(const StrategyContext& context);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_STRATEGIES_SERVER_PARAMETERS_H_
