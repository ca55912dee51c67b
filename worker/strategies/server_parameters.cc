#include "worker/strategies/server_parameters.h"

#include "core/status.h"

namespace crossover::worker {

absl::Status ShareFirstParameters(const StrategyContext& context) {
  if (context.rank == 0) {
    RETURN_IF_ERROR(context.servers->Initialize(context.parameters.host()));
  }
  return context.servers->Pull(context.parameters.host());
}

absl::Status TakeLastParameters(const StrategyContext& context) {
  RETURN_IF_ERROR(context.barrier("last push"));
  RETURN_IF_ERROR(context.servers->Pull(context.parameters.host()));
  return context.barrier("last pull");
}

}  // namespace crossover::worker
