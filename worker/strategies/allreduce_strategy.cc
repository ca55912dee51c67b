#include "worker/strategies/allreduce_strategy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
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
      sum_of_bucket_(context.buckets.buckets.size(), -1) {}

absl::Status AllReduceStrategy::Start() {
  if (context_.communicator == nullptr) return absl::OkStatus();
  allreduce::Communicator& communicator = *context_.communicator;
  RETURN_IF_ERROR(communicator.Broadcast(context_.parameters.host(), 0, "initial parameters"));
  at_start_ = communicator.counters();
  thread_ = std::make_unique<allreduce::CollectiveThread>(communicator,
                                                          allreduce::CollectiveThread::Options{});
  return absl::OkStatus();
}

void AllReduceStrategy::BeginStep(int64_t step) {
  step_ = step;
  std::fill(sum_of_bucket_.begin(), sum_of_bucket_.end(), -1);
}

void AllReduceStrategy::BucketReady(int bucket) {
  if (thread_ == nullptr) return;
  // The operation begins here: waiting for the thread is part of communicating.
  const int64_t ready_ns = context_.timeline.clock().NowNs();
  const std::span<float> gradients = BucketOf(context_.gradients, context_.buckets.buckets[bucket]);
  sum_of_bucket_[bucket] =
      thread_->Queue({.kind = allreduce::Kind::kAllReduce,
                      .type = DataType::kFloat32,
                      .op = ReduceOp::kSum,
                      .count = static_cast<int64_t>(gradients.size()),
                      .input = gradients.data(),
                      .output = gradients.data(),
                      .name = absl::StrCat("bucket ", bucket),
                      .algorithm = {}},
                     [this, bucket, ready_ns] {
                       context_.timeline.Record(SpanKind::kReduce, bucket, ready_ns,
                                                context_.timeline.clock().NowNs());
                     });
}

absl::Status AllReduceStrategy::EndStep() {
  for (const Bucket& bucket : context_.buckets.buckets) {
    if (thread_ != nullptr) {
      CROSSOVER_CHECK(sum_of_bucket_[bucket.id] >= 0, "every bucket is ready by the step's end");
      RETURN_IF_ERROR(WaitForBucket(bucket));
    }
    ApplyBucket(bucket);
  }
  ++steps_done_;
  return absl::OkStatus();
}

absl::Status AllReduceStrategy::WaitForBucket(const Bucket& bucket) {
  const int64_t sum = sum_of_bucket_[bucket.id];
  absl::Status status;
  if (thread_->IsDone(sum)) {
    status = thread_->Wait(sum);
  } else {
    // Until this thread goes on: being woken is part of communicating too.
    ScopedSpan span(context_.timeline, SpanKind::kReduce, bucket.id);
    status = thread_->Wait(sum);
  }
  return Annotate(status,
                  absl::StrCat("AllReduce of bucket ", bucket.id, " in step ", step_, ": "));
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
  if (context_.communicator != nullptr) {
    counters.synchronisations = steps_done_;
    const allreduce::StreamCounters now = context_.communicator->counters();
    counters.payload_sent_bytes = now.sent_bytes - at_start_.sent_bytes;
    counters.payload_received_bytes = now.received_bytes - at_start_.received_bytes;
  }
  return counters;
}

}  // namespace crossover::worker
