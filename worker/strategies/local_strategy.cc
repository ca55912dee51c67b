#include "worker/strategies/local_strategy.h"

#include "core/gradient_norm.h"
#include "core/reduce.h"
#include "core/status.h"
#include "worker/strategies/server_parameters.h"

namespace crossover::worker {

LocalStrategy::LocalStrategy(const StrategyContext& context)
    : context_(context),
      schedule_(MakeAveragingSchedule(context.job.local_sgd(), context.total_steps)),
      inner_(context.job.optimizer(), static_cast<int64_t>(context.parameters.length)),
      outer_(context.job.local_sgd().outer_learning_rate(),
             context.job.local_sgd().outer_momentum(),
             static_cast<int64_t>(context.parameters.length)) {}

absl::Status LocalStrategy::Start() {
  if (context_.communicator != nullptr) {
    RETURN_IF_ERROR(
        context_.communicator->Broadcast(context_.parameters.host(), 0, "initial parameters"));
    if (!outer_.IsPlainAverage()) {
      const std::span<const float> parameters = context_.parameters.host();
      anchor_.assign(parameters.begin(), parameters.end());
    }
    sent_at_start_ = context_.communicator->counters().sent_bytes;
    received_at_start_ = context_.communicator->counters().received_bytes;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(ShareFirstParameters(context_));
  sent_at_start_ = context_.servers->counters().sent_bytes;
  received_at_start_ = context_.servers->counters().received_bytes;
  return absl::OkStatus();
}

absl::Status LocalStrategy::EndStep() {
  {
    ScopedSpan span(context_.timeline, SpanKind::kApply);
    ClipToNorm(context_.job.optimizer().clip_norm(), context_.gradients.host());
    inner_.Apply(0, context_.parameters.host(), context_.gradients.host(),
                 context_.learning_rate.At(step_), step_);
  }
  averaged_ = false;
  return schedule_.AveragesAfter(step_) ? Average() : absl::OkStatus();
}

absl::Status LocalStrategy::Average() {
  RETURN_IF_ERROR(Annotate(
      context_.communicator != nullptr ? AverageThroughCollective() : AverageThroughServers(),
      absl::StrCat("averaging ", rounds_, " after step ", step_, ": ")));
  averaged_ = true;
  ++rounds_;
  return absl::OkStatus();
}

absl::Status LocalStrategy::AverageThroughCollective() {
  const std::span<float> parameters = context_.parameters.host();
  // One operation over the whole buffer: there is no backward pass to overlap with.
  {
    ScopedSpan span(context_.timeline, SpanKind::kReduce, 0);
    RETURN_IF_ERROR(context_.communicator->AllReduceSum(parameters, "parameters"));
  }
  ScopedSpan span(context_.timeline, SpanKind::kApply);
  DivideBy(parameters, context_.contributors);
  if (outer_.IsPlainAverage()) return absl::OkStatus();
  if (rounds_ < schedule_.first_phase_steps) {
    anchor_.assign(parameters.begin(), parameters.end());
    return absl::OkStatus();
  }
  outer_.Apply(0, anchor_, parameters);
  std::copy(anchor_.begin(), anchor_.end(), parameters.begin());
  return absl::OkStatus();
}

absl::Status LocalStrategy::AverageThroughServers() {
  const std::span<float> parameters = context_.parameters.host();
  context_.servers->BeginStep(rounds_, parameters, parameters);
  ScopedSpan span(context_.timeline, SpanKind::kPull, context_.buckets.buckets.back().id);
  for (const Bucket& bucket : context_.buckets.buckets) context_.servers->PushBucket(bucket.id);
  return context_.servers->Wait();
}

absl::Status LocalStrategy::Finish() {
  if (!averaged_) RETURN_IF_ERROR(Average());
  return context_.servers != nullptr ? context_.servers->Leave() : absl::OkStatus();
}

StrategyCounters LocalStrategy::counters() const {
  StrategyCounters counters;
  counters.synchronisations = rounds_;
  if (context_.communicator != nullptr) {
    const allreduce::StreamCounters now = context_.communicator->counters();
    counters.payload_sent_bytes = now.sent_bytes - sent_at_start_;
    counters.payload_received_bytes = now.received_bytes - received_at_start_;
  } else {
    const ps::ClientCounters now = context_.servers->counters();
    counters.payload_sent_bytes = now.sent_bytes - sent_at_start_;
    counters.payload_received_bytes = now.received_bytes - received_at_start_;
  }
  return counters;
}

}  // namespace crossover::worker
