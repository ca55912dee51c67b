#include "worker/strategies/allreduce_strategy.h"

#include <algorithm>

#include "core/check.h"
#include "core/reduce.h"
#include "core/status.h"

namespace crossover::worker {
namespace {

std::span<float> BucketOf(const DeviceSpan& buffer, const Bucket& bucket) {
  return buffer.host().subspan(bucket.offset, bucket.length);
}

}  // namespace

AllReduceStrategy::AllReduceStrategy(const StrategyContext& context)
    : context_(context),
      optimizer_(context.job.optimizer(), static_cast<int64_t>(context.parameters.length)),
      task_of_bucket_(context.buckets.buckets.size(), -1) {}

absl::Status AllReduceStrategy::Start() {
  if (context_.collective == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(context_.collective->Broadcast(context_.parameters.host()));
  at_start_ = context_.collective->counters();
  thread_ = std::make_unique<CommunicationThread>(context_.buckets.buckets.size());
  return absl::OkStatus();
}

void AllReduceStrategy::BeginStep(int64_t step) {
  step_ = step;
  std::fill(task_of_bucket_.begin(), task_of_bucket_.end(), -1);
}

void AllReduceStrategy::BucketReady(int bucket) {
  if (thread_ == nullptr) return;
  // The operation begins here: waiting for the thread is part of communicating.
  const int64_t ready_ns = context_.timeline.clock().NowNs();
  task_of_bucket_[bucket] = thread_->Queue(
      [=, this] { return ReduceBucket(context_.buckets.buckets[bucket], ready_ns); });
}

absl::Status AllReduceStrategy::ReduceBucket(const Bucket& bucket, int64_t ready_ns) {
  const absl::Status status =
      context_.collective->AllReduceSum(BucketOf(context_.gradients, bucket));
  context_.timeline.Record(SpanKind::kReduce, bucket.id, ready_ns,
                           context_.timeline.clock().NowNs());
  return Annotate(status,
                  absl::StrCat("AllReduce of bucket ", bucket.id, " in step ", step_, ": "));
}

absl::Status AllReduceStrategy::EndStep() {
  for (const Bucket& bucket : context_.buckets.buckets) {
    if (thread_ != nullptr) {
      CROSSOVER_CHECK(task_of_bucket_[bucket.id] >= 0, "every bucket is ready by the step's end");
      RETURN_IF_ERROR(WaitForBucket(bucket));
    }
    ApplyBucket(bucket);
  }
  ++steps_done_;
  return absl::OkStatus();
}

absl::Status AllReduceStrategy::WaitForBucket(const Bucket& bucket) {
  const int64_t task = task_of_bucket_[bucket.id];
  if (thread_->IsDone(task)) return thread_->Wait(task);
  // Until this thread goes on: being woken is part of communicating too.
  ScopedSpan span(context_.timeline, SpanKind::kReduce, bucket.id);
  return thread_->Wait(task);
}

void AllReduceStrategy::ApplyBucket(const Bucket& bucket) {
  ScopedSpan span(context_.timeline, SpanKind::kApply);
  std::span<float> gradients = BucketOf(context_.gradients, bucket);
  DivideBy(gradients, context_.contributors);
  optimizer_.Apply(bucket.offset, BucketOf(context_.parameters, bucket), gradients,
                   context_.learning_rate.At(step_), step_);
}

absl::Status AllReduceStrategy::Finish() {
  thread_.reset();
  return absl::OkStatus();
}

StrategyCounters AllReduceStrategy::counters() const {
  StrategyCounters counters;
  if (context_.collective != nullptr) {
    counters.synchronisations = steps_done_;
    const allreduce::CollectiveCounters now = context_.collective->counters();
    counters.payload_sent_bytes = now.sent_bytes - at_start_.sent_bytes;
    counters.payload_received_bytes = now.received_bytes - at_start_.received_bytes;
  }
  return counters;
}

}  // namespace crossover::worker
