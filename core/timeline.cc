#include "core/timeline.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace crossover {
namespace {

bool IsCommunication(SpanKind kind) {
  return kind == SpanKind::kPush || kind == SpanKind::kPull || kind == SpanKind::kReduce;
}

Interval ClipTo(Interval step, Interval span) {
  return {std::max(step.start_ns, span.start_ns), std::min(step.end_ns, span.end_ns)};
}

// Makes one record of each operation's spans.
std::vector<OpRecord> MergeByOp(std::vector<OpRecord> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const OpRecord& a, const OpRecord& b) { return a.op < b.op; });
  std::vector<OpRecord> ops;
  for (const OpRecord& span : spans) {
    if (ops.empty() || ops.back().op != span.op) {
      ops.push_back(span);
    } else {
      Interval& whole = ops.back().interval;
      whole.start_ns = std::min(whole.start_ns, span.interval.start_ns);
      whole.end_ns = std::max(whole.end_ns, span.interval.end_ns);
    }
  }
  return ops;
}

}  // namespace

const char* SpanKindName(SpanKind kind) {
  switch (kind) {
    case SpanKind::kData:
      return "data";
    case SpanKind::kCompute:
      return "compute";
    case SpanKind::kPush:
      return "push";
    case SpanKind::kPull:
      return "pull";
    case SpanKind::kReduce:
      return "reduce";
    case SpanKind::kApply:
      return "apply";
  }
  return "unknown";
}

StepRecord ReduceStep(int64_t step, Interval interval, std::span<const TimeSpan> spans) {
  std::vector<Interval> all;
  std::vector<Interval> compute;
  std::vector<Interval> communication;
  std::vector<Interval> data;
  std::vector<Interval> apply;
  std::vector<OpRecord> op_spans;
  for (const TimeSpan& span : spans) {
    const Interval inside = ClipTo(interval, span.interval);
    if (inside.start_ns >= inside.end_ns) continue;
    all.push_back(inside);
    if (IsCommunication(span.kind)) {
      communication.push_back(inside);
      if (span.op >= 0) op_spans.push_back({span.op, inside});
    } else if (span.kind == SpanKind::kCompute) {
      compute.push_back(inside);
    } else if (span.kind == SpanKind::kData) {
      data.push_back(inside);
    } else {
      apply.push_back(inside);
    }
  }
  compute = Union(compute);
  communication = Union(communication);

  StepRecord record;
  record.step = step;
  record.interval = interval;
  record.compute_ns = LengthNs(compute);
  record.communication_ns = LengthNs(communication);
  record.hidden_ns = LengthNs(Intersection(compute, communication));
  record.data_ns = LengthNs(Union(data));
  record.apply_ns = LengthNs(Union(apply));
  record.covered_ns = LengthNs(Union(all));
  record.ops = MergeByOp(std::move(op_spans));
  return record;
}

Timeline::Timeline(const Clock& clock) : clock_(clock) {}

void Timeline::BeginStep(int64_t step) {
  const int64_t now_ns = clock_.NowNs();
  std::lock_guard lock(mutex_);
  CROSSOVER_CHECK(!in_step_, "EndStep comes before the next BeginStep");
  CROSSOVER_CHECK(step > step_, "steps go up from 0");
  in_step_ = true;
  step_ = step;
  step_start_ns_ = now_ns;
  held_ns_ = 0;
}

void Timeline::Record(SpanKind kind, int op, int64_t start_ns, int64_t end_ns) {
  std::lock_guard lock(mutex_);
  if (in_step_) spans_.push_back({kind, op, {start_ns, end_ns}});
}

void Timeline::AddHeld(int64_t duration_ns) {
  std::lock_guard lock(mutex_);
  if (in_step_) held_ns_ += duration_ns;
}

StepRecord Timeline::EndStep(int64_t samples, double loss) {
  std::vector<TimeSpan> spans;
  Interval interval;
  int64_t held_ns = 0;
  {
    std::lock_guard lock(mutex_);
    CROSSOVER_CHECK(in_step_, "BeginStep comes before EndStep");
    in_step_ = false;
    interval = {step_start_ns_, clock_.NowNs()};
    held_ns = held_ns_;
    spans.swap(spans_);
  }
  // Outside the lock: recording threads never wait for the reduction.
  StepRecord record = ReduceStep(step_, interval, spans);
  record.held_ns = held_ns;
  record.samples = samples;
  record.loss = loss;

  std::lock_guard lock(mutex_);
  Keep(record);
  KeepSpans(record, spans);
  spans.clear();
  spans_.swap(spans);  // its memory serves the next step
  return record;
}

void Timeline::Keep(const StepRecord& record) {
  if (record.step % stride_ == 0) records_.push_back(record);
  // By the step's number, not by its position, so that all ranks keep the same.
  while (static_cast<int>(records_.size()) > kMaxRecordedSteps) {
    stride_ *= 2;
    std::erase_if(records_, [&](const StepRecord& r) { return r.step % stride_ != 0; });
  }
}

void Timeline::KeepSpans(const StepRecord& record, std::span<const TimeSpan> spans) {
  const int64_t length_ns = record.interval.end_ns - record.interval.start_ns;
  const auto kept = [&]() -> StepSpans {
    const auto first = spans.first(std::min(spans.size(), kMaxKeptSpans));
    return {record.step, length_ns, {first.begin(), first.end()}};
  };
  if (std::find(keep_.begin(), keep_.end(), record.step) != keep_.end()) kept_.push_back(kept());
  if (slowest_count_ == 0 || record.step < slowest_first_step_) return;
  if (slowest_.size() < slowest_count_) {
    slowest_.push_back(kept());
    return;
  }
  const auto quickest =
      std::min_element(slowest_.begin(), slowest_.end(),
                       [](const auto& a, const auto& b) { return a.length_ns < b.length_ns; });
  if (length_ns > quickest->length_ns) *quickest = kept();
}

std::vector<StepRecord> Timeline::steps() const {
  std::lock_guard lock(mutex_);
  return records_;
}

std::vector<Timeline::StepSpans> Timeline::kept_spans() const {
  std::lock_guard lock(mutex_);
  return kept_;
}

void Timeline::KeepSpansOf(std::vector<int64_t> steps) {
  std::lock_guard lock(mutex_);
  keep_ = std::move(steps);
}

void Timeline::KeepSlowest(int count, int64_t first_step) {
  CROSSOVER_CHECK(count >= 0, "a count is not negative");
  std::lock_guard lock(mutex_);
  slowest_count_ = count;
  slowest_first_step_ = first_step;
  slowest_.clear();
}

std::vector<Timeline::StepSpans> Timeline::slowest_spans() const {
  std::lock_guard lock(mutex_);
  std::vector<StepSpans> slowest = slowest_;
  std::sort(slowest.begin(), slowest.end(),
            [](const StepSpans& a, const StepSpans& b) { return a.step < b.step; });
  return slowest;
}

}  // namespace crossover
