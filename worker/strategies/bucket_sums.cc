#include "worker/strategies/bucket_sums.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/status.h"

namespace crossover::worker {

std::span<float> BucketOf(const DeviceSpan& buffer, const Bucket& bucket) {
  return buffer.host().subspan(bucket.offset, bucket.length);
}

BucketSums::BucketSums(const StrategyContext& context)
    : context_(context),
      sum_of_bucket_(context.buckets.buckets.size(), -1),
      thread_(*context.communicator, allreduce::CollectiveThread::Options{}) {}

void BucketSums::BeginStep(int64_t step) {
  step_ = step;
  std::fill(sum_of_bucket_.begin(), sum_of_bucket_.end(), -1);
}

void BucketSums::Ready(int bucket) {
  // The operation begins here: waiting for the thread is part of communicating.
  const int64_t ready_ns = context_.timeline.clock().NowNs();
  const std::span<float> gradients = BucketOf(context_.gradients, context_.buckets.buckets[bucket]);
  sum_of_bucket_[bucket] =
      thread_.Queue({.kind = allreduce::Kind::kAllReduce,
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

absl::Status BucketSums::Wait(const Bucket& bucket) {
  const int64_t sum = sum_of_bucket_[bucket.id];
  CROSSOVER_CHECK(sum >= 0, "every bucket is ready by the step's end");
  absl::Status status;
  if (thread_.IsDone(sum)) {
    status = thread_.Wait(sum);
  } else {
    // Until this thread goes on: being woken is part of communicating too.
    ScopedSpan span(context_.timeline, SpanKind::kReduce, bucket.id);
    status = thread_.Wait(sum);
  }
  return Annotate(status,
                  absl::StrCat("AllReduce of bucket ", bucket.id, " in step ", step_, ": "));
}

absl::Status BucketSums::Broadcast(std::span<float> values) {
  const int64_t number = thread_.Queue({.kind = allreduce::Kind::kBroadcast,
                                        .type = DataType::kFloat32,
                                        .op = ReduceOp::kSum,
                                        .count = static_cast<int64_t>(values.size()),
                                        .input = values.data(),
                                        .output = values.data(),
                                        .name = "parameters",
                                        .algorithm = {}});
  return Annotate(thread_.Wait(number), absl::StrCat("broadcast in step ", step_, ": "));
}

}  // namespace crossover::worker
