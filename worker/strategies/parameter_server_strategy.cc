#include "worker/strategies/parameter_server_strategy.h"

#include "core/status.h"
#include "core/strategy_traits.h"
#include "worker/strategies/server_parameters.h"

namespace crossover::worker {

absl::Status ParameterServerStrategy::Start() {
  RETURN_IF_ERROR(ShareFirstParameters(context_));
  at_start_ = context_.servers->counters();
  return absl::OkStatus();
}

void ParameterServerStrategy::BeginStep(int64_t step) {
  step_ = step;
  context_.servers->BeginStep(step, context_.gradients.host(), context_.parameters.host());
}

void ParameterServerStrategy::BucketReady(int bucket) {
  if (!clips_here_) context_.servers->PushBucket(bucket);
}

absl::Status ParameterServerStrategy::EndStep() {
  if (clips_here_) ClipAndPush(context_);
  // Beside the client's own spans: until this thread goes on, being woken included.
  ScopedSpan span(context_.timeline, SpanKind::kPull, context_.buckets.buckets.back().id);
  RETURN_IF_ERROR(Annotate(context_.servers->Wait(), absl::StrCat("step ", step_, ": ")));
  ++steps_done_;
  at_end_ = context_.servers->counters();
  return absl::OkStatus();
}

int64_t ParameterServerStrategy::NextStep(int64_t step) const {
  return ps::OpenStep(policy_, step, context_.servers->OldestVersion());
}

absl::Status ParameterServerStrategy::Finish() {
  if (TraitsOf(context_.job).update_per_push) RETURN_IF_ERROR(TakeLastParameters(context_));
  return context_.servers->Leave();
}

StrategyCounters ParameterServerStrategy::counters() const {
  return {.payload_sent_bytes = at_end_.sent_bytes - at_start_.sent_bytes,
          .payload_received_bytes = at_end_.received_bytes - at_start_.received_bytes,
          .synchronisations = steps_done_,
          .late_pushes = at_end_.versions.late_pushes,
          .staleness_max = at_end_.versions.staleness_max,
          .mixed_version_steps = at_end_.versions.mixed_version_steps};
}

}  // namespace crossover::worker
