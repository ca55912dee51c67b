// What one process did when: spans on the injected clock, reduced step by step
// to the figures that the report is made of. Definitions (docs/METRICS.md):
//   compute       union of kCompute spans
//   communication union of kPush, kPull and kReduce spans
//   hidden        their intersection; exposed = communication - hidden
//   covered       union of all kinds; with compute, communication, data and apply
//                 it should be 99-100% of the step
// Everything is clipped to the step.
//
// Thread-safe: the compute thread and the communication thread record at once. Only
// one thread, the compute thread, begins and ends steps. Nothing blocks beyond a
// short lock. What is recorded between two steps belongs to neither and is dropped.
// Memory is bounded by the spans of the current step, kMaxRecordedSteps records and
// kMaxKeptSpans of each step that is kept.
#ifndef CROSSOVER_CORE_TIMELINE_H_
#define CROSSOVER_CORE_TIMELINE_H_

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "core/clock.h"
#include "core/intervals.h"

namespace crossover {

enum class SpanKind { kData, kCompute, kPush, kPull, kReduce, kApply };
const char* SpanKindName(SpanKind kind);

struct TimeSpan {
  SpanKind kind = SpanKind::kCompute;
  int op = -1;  // bucket of a communication span; -1 otherwise
  Interval interval;
};

// One synchronising operation (a bucket's): from its first communication span's
// start to its last one's end.
struct OpRecord {
  int op = 0;
  Interval interval;
};

// Times are the lengths of unions; ops are clipped to the step, too.
struct StepRecord {
  int64_t step = 0;
  Interval interval;
  int64_t compute_ns = 0;
  int64_t communication_ns = 0;
  int64_t hidden_ns = 0;
  int64_t data_ns = 0;
  int64_t apply_ns = 0;
  int64_t held_ns = 0;  // given by the strategy: replies held back by a bound
  int64_t covered_ns = 0;
  std::vector<OpRecord> ops;  // by op
  int64_t samples = 0;        // trained on here in this step
  double loss = 0;            // their mean
};

// The reduction, pure.
StepRecord ReduceStep(int64_t step, Interval interval, std::span<const TimeSpan> spans);

class Timeline {
 public:
  // Past this many records, those of odd steps are dropped and from then on only
  // every second step is kept (then every fourth, ...), chosen by the steps' numbers:
  // all ranks keep the same ones.
  static constexpr int kMaxRecordedSteps = 16384;
  static constexpr size_t kMaxKeptSpans = 4096;

  // `clock` must outlive the timeline.
  explicit Timeline(const Clock& clock);

  const Clock& clock() const { return clock_; }
  // A step starts now. Its number is larger than that of the last, which has ended
  // (CHECK).
  void BeginStep(int64_t step);
  void Record(SpanKind kind, int op, int64_t start_ns, int64_t end_ns);
  // Adds time in which a bound held this step's replies back.
  void AddHeld(int64_t duration_ns);
  // Ends the step now and returns its record. `samples` and their mean `loss` are
  // the trainer's, kept beside the times.
  StepRecord EndStep(int64_t samples, double loss);

  // Copies of what was kept.
  std::vector<StepRecord> steps() const;
  // All spans of the few steps named by KeepSpansOf.
  struct StepSpans {
    int64_t step = 0;
    int64_t length_ns = 0;  // of the step
    std::vector<TimeSpan> spans;
  };
  std::vector<StepSpans> kept_spans() const;
  // Steps whose spans are kept whole, unclipped (a picture of a step), up to
  // kMaxKeptSpans of each. Replaces earlier steps' names; applies to steps that end
  // after the call.
  void KeepSpansOf(std::vector<int64_t> steps);
  // Beside them, the `count` longest steps so far, of those from `first_step` on.
  void KeepSlowest(int count, int64_t first_step);
  std::vector<StepSpans> slowest_spans() const;  // by step

 private:
  // mutex_ is held.
  void Keep(const StepRecord& record);
  void KeepSpans(const StepRecord& record, std::span<const TimeSpan> spans);

  const Clock& clock_;
  mutable std::mutex mutex_;
  bool in_step_ = false;
  int64_t step_ = -1;
  int64_t step_start_ns_ = 0;
  int64_t held_ns_ = 0;
  int64_t stride_ = 1;
  std::vector<TimeSpan> spans_;
  std::vector<StepRecord> records_;
  std::vector<int64_t> keep_;
  std::vector<StepSpans> kept_;
  size_t slowest_count_ = 0;
  int64_t slowest_first_step_ = 0;
  std::vector<StepSpans> slowest_;
};

// Records from construction to destruction.
class ScopedSpan {
 public:
  ScopedSpan(Timeline& timeline, SpanKind kind, int op = -1)
      : timeline_(timeline), kind_(kind), op_(op), start_ns_(timeline.clock().NowNs()) {}
  ~ScopedSpan() { timeline_.Record(kind_, op_, start_ns_, timeline_.clock().NowNs()); }
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

 private:
  Timeline& timeline_;
  SpanKind kind_;
  int op_;
  int64_t start_ns_;
};

}  // namespace crossover

#endif  // CROSSOVER_CORE_TIMELINE_H_
