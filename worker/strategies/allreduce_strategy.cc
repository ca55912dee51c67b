#include "worker/strategies/allreduce_strategy.h"

#include "core/gradient_norm.h"
#include "core/reduce.h"
#include "core/status.h"

namespace crossover::worker {

AllReduceStrategy::AllReduceStrategy(const StrategyContext& context)
    : context_(context),
      optimizer_(context.job.optimizer(), static_cast<int64_t>(context.parameters.length)) {}

absl::Status AllReduceStrategy::Start() {
  if (context_.communicator == nullptr) return absl::OkStatus();
  allreduce::Communicator& communicator = *context_.communicator;
  RETURN_IF_ERROR(communicator.Broadcast(context_.parameters.host(), 0, "initial parameters"));
  at_start_ = communicator.counters();
  sums_ = std::make_unique<BucketSums>(context_);
  return absl::OkStatus();
}

void AllReduceStrategy::BeginStep(int64_t step) {
  step_ = step;
  if (sums_ != nullptr) sums_->BeginStep(step);
}

void AllReduceStrategy::BucketReady(int bucket) {
  if (sums_ != nullptr) sums_->Ready(bucket);
}

absl::Status AllReduceStrategy::EndStep() {
  const double clip_norm = context_.job.optimizer().clip_norm();
  for (const Bucket& bucket : context_.buckets.buckets) {
    if (sums_ != nullptr) RETURN_IF_ERROR(sums_->Wait(bucket));
    ScopedSpan span(context_.timeline, SpanKind::kApply);
    DivideBy(BucketOf(context_.gradients, bucket), context_.contributors);
    if (clip_norm == 0) Update(bucket);
  }
  ++steps_done_;
  if (clip_norm == 0) return absl::OkStatus();
  // The norm is of all buckets, so no update overlaps with a later bucket's sum.
  ScopedSpan span(context_.timeline, SpanKind::kApply);
  ClipToNorm(clip_norm, context_.gradients.host());
  for (const Bucket& bucket : context_.buckets.buckets) Update(bucket);
  return absl::OkStatus();
}

void AllReduceStrategy::Update(const Bucket& bucket) {
  optimizer_.Apply(bucket.offset, BucketOf(context_.parameters, bucket),
                   BucketOf(context_.gradients, bucket), context_.learning_rate.At(step_), step_);
}

absl::Status AllReduceStrategy::Finish() {
  sums_.reset();
  return absl::OkStatus();
}

StrategyCounters AllReduceStrategy::counters() const {
  StrategyCounters counters;
  if (context_.communicator != nullptr) {
    counters.synchronisations = steps_done_;
    const allreduce::StreamCounters now = context_.communicator->counters();
    counters.payload_sent_bytes = now.sent_bytes - at_start_.sent_bytes;
    counters.payload_received_bytes = now.received_bytes - at_start_.received_bytes;
  }
  return counters;
}

}  // namespace crossover::worker
