#include "worker/strategies/server_parameters.h"

#include "core/gradient_norm.h"
#include "core/status.h"

namespace crossover::worker {

absl::Status ShareFirstParameters(const StrategyContext& context) {
  if (context.rank == 0) {
    RETURN_IF_ERROR(context.servers->Initialize(context.parameters.host()));
  }
  return context.servers->Pull(context.parameters.host());
}

void ClipAndPush(const StrategyContext& context) {
  {
    ScopedSpan span(context.timeline, SpanKind::kApply);
    ClipToNorm(context.job.optimizer().clip_norm(), context.gradients.host());
  }
  for (const Bucket& bucket : context.buckets.buckets) context.servers->PushBucket(bucket.id);
}

absl::Status TakeLastParameters(const StrategyContext& context) {
  RETURN_IF_ERROR(context.barrier("last push"));
  RETURN_IF_ERROR(context.servers->Pull(context.parameters.host()));
  return context.barrier("last pull");
}

}  // namespace crossover::worker
