// What strategies over servers share. They begin and end alike: rank 0's parameters become
// everyone's, and so do the servers' last.
#ifndef CROSSOVER_WORKER_STRATEGIES_SERVER_PARAMETERS_H_
#define CROSSOVER_WORKER_STRATEGIES_SERVER_PARAMETERS_H_

#include "absl/status/status.h"
#include "worker/strategies/strategy_context.h"

namespace crossover::worker {

// Rank 0 gives the servers its parameters; all then pull them. Blocks; bounded by
// the run's deadlines through the client's Abort.
absl::Status ShareFirstParameters(const StrategyContext& context);

// Where each push is an update of its own: clips the gradient of this step, whose norm is known now
// that all of it is there, and pushes all buckets.
void ClipAndPush(const StrategyContext& context);

// Where pushes of others may still change what this worker holds: waits until all have made their
// last, and takes the parameters as they are then. Blocks, bounded.
absl::Status TakeLastParameters(const StrategyContext& context);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_STRATEGIES_SERVER_PARAMETERS_H_
