#include "worker/strategies/server_start.h"

#include "core/status.h"

namespace crossover::worker {

absl::Status ShareFirstParameters(const StrategyContext& context) {
  if (context.rank == 0) {
    RETURN_IF_ERROR(context.servers->Initialize(context.parameters.host()));
  }
  return context.servers->Pull(context.parameters.host());
}

}  // namespace crossover::worker
