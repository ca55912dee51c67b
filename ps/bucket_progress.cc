#include "ps/bucket_progress.h"

#include <algorithm>

#include "core/check.h"

namespace crossover::ps {

void BucketProgress::BeginStep() {
  for (Bucket& bucket : buckets_) bucket = {};
  unpushed_ = unfinished_ = static_cast<int>(buckets_.size());
}

void BucketProgress::Push(int bucket, int parts) {
  Bucket& state = buckets_[bucket];
  CROSSOVER_CHECK(!state.pushed, "a bucket is pushed once a step");
  state.pushed = true;
  state.start_ns = timeline_.clock().NowNs();
  state.unwritten_parts = state.unanswered_parts = parts;
  --unpushed_;
  if (parts == 0) --unfinished_;
}

void BucketProgress::Written(int bucket) {
  Bucket& state = buckets_[bucket];
  if (--state.unwritten_parts == 0) state.written_ns = timeline_.clock().NowNs();
  FinishIfDone(bucket);
}

void BucketProgress::Answered(int bucket) {
  Bucket& state = buckets_[bucket];
  if (--state.unanswered_parts == 0) state.answered_ns = timeline_.clock().NowNs();
  FinishIfDone(bucket);
}

void BucketProgress::FinishIfDone(int bucket) {
  const Bucket& state = buckets_[bucket];
  if (state.unwritten_parts > 0 || state.unanswered_parts > 0) return;
  timeline_.Record(SpanKind::kPush, bucket, state.start_ns, state.written_ns);
  timeline_.Record(SpanKind::kPull, bucket, state.written_ns,
                   std::max(state.written_ns, state.answered_ns));
  --unfinished_;
}

}  // namespace crossover::ps
