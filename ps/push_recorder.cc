#include "ps/push_recorder.h"

#include <algorithm>

#include "core/timeline.h"

namespace crossover::ps {
namespace {

Interval Hull(Interval a, Interval b) {
  return {std::min(a.start_ns, b.start_ns), std::max(a.end_ns, b.end_ns)};
}

void AddSpan(const char* kind, int64_t step, int bucket, Interval interval,
             proto::ServerReport& report) {
  proto::Span& span = *report.add_spans();
  span.set_kind(kind);
  span.set_step(step);
  span.set_op(bucket);
  span.set_start_ns(interval.start_ns);
  span.set_end_ns(interval.end_ns);
}

}  // namespace

PushRecorder::PushRecorder(std::vector<int64_t> steps) : steps_(std::move(steps)) {}

void PushRecorder::Record(int64_t step, int bucket, Interval interval, bool replied) {
  if (!std::binary_search(steps_.begin(), steps_.end(), step)) return;
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = times_.try_emplace({step, bucket});
  BucketTimes& times = entry->second;
  times.receive = is_new ? interval : Hull(times.receive, interval);
  if (replied) times.apply = times.applied ? Hull(times.apply, interval) : interval;
  times.applied = times.applied || replied;
  // The newest step's buckets are left out; every chosen step before it is whole.
  if (2 * times_.size() > Timeline::kMaxKeptSpans) times_.erase(entry);
}

void PushRecorder::RecordUpdate(int64_t step, int bucket, Interval interval) {
  const std::lock_guard lock(mutex_);
  const auto entry = times_.find({step, bucket});
  if (entry == times_.end()) return;
  BucketTimes& times = entry->second;
  times.apply = times.applied ? Hull(times.apply, interval) : interval;
  times.applied = true;
}

void PushRecorder::AddTo(proto::ServerReport& report) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, times] : times_) {
    AddSpan("receive", key.first, key.second, times.receive, report);
    if (times.applied) AddSpan("apply", key.first, key.second, times.apply, report);
  }
}

}  // namespace crossover::ps
