#include "core/timeline.h"

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ReduceStepTest, AStepWithoutSpans) {
  const StepRecord record = ReduceStep(3, {10, 30}, {});
  EXPECT_EQ(record.step, 3);
  EXPECT_EQ(record.interval.start_ns, 10);
  EXPECT_EQ(record.interval.end_ns, 30);
  EXPECT_EQ(record.compute_ns, 0);
  EXPECT_EQ(record.communication_ns, 0);
  EXPECT_EQ(record.covered_ns, 0);
  EXPECT_THAT(record.ops, IsEmpty());
}

TEST(ReduceStepTest, OverlapIsCountedOnce) {
  //            0         10        20        30        40        50
  // data       [----)
  // compute         [-------------------)
  // bucket 0                  push [--)pull[----)
  // bucket 1                       [---------)  pull [--)
  // apply                                               [--)
  const std::vector<TimeSpan> spans = {
      {SpanKind::kData, -1, {0, 5}},      {SpanKind::kCompute, -1, {5, 15}},
      {SpanKind::kCompute, -1, {15, 25}}, {SpanKind::kPush, 0, {20, 23}},
      {SpanKind::kPull, 0, {27, 32}},     {SpanKind::kPush, 1, {20, 30}},
      {SpanKind::kPull, 1, {35, 38}},     {SpanKind::kApply, -1, {38, 41}}};
  const StepRecord record = ReduceStep(0, {0, 50}, spans);
  EXPECT_EQ(record.data_ns, 5);
  EXPECT_EQ(record.compute_ns, 20);
  EXPECT_EQ(record.communication_ns, 15);  // [20, 32) and [35, 38)
  EXPECT_EQ(record.hidden_ns, 5);          // [20, 25)
  EXPECT_EQ(record.apply_ns, 3);
  EXPECT_EQ(record.covered_ns, 38);  // all but [32, 35) and [41, 50)
  EXPECT_EQ(record.held_ns, 0);
  ASSERT_THAT(record.ops, SizeIs(2));
  EXPECT_EQ(record.ops[0].op, 0);
  EXPECT_EQ(record.ops[0].interval.start_ns, 20);
  EXPECT_EQ(record.ops[0].interval.end_ns, 32);
  EXPECT_EQ(record.ops[1].op, 1);
  EXPECT_EQ(record.ops[1].interval.start_ns, 20);
  EXPECT_EQ(record.ops[1].interval.end_ns, 38);
}

TEST(ReduceStepTest, EverythingIsClippedToTheStep) {
  const std::vector<TimeSpan> spans = {{SpanKind::kCompute, -1, {0, 15}},
                                       {SpanKind::kReduce, 4, {18, 99}},
                                       {SpanKind::kReduce, 2, {0, 10}},
                                       {SpanKind::kApply, -1, {20, 21}}};
  const StepRecord record = ReduceStep(0, {10, 20}, spans);
  EXPECT_EQ(record.compute_ns, 5);
  EXPECT_EQ(record.communication_ns, 2);
  EXPECT_EQ(record.apply_ns, 0);
  EXPECT_EQ(record.covered_ns, 7);
  ASSERT_THAT(record.ops, SizeIs(1));  // operation 2 lies before the step
  EXPECT_EQ(record.ops[0].op, 4);
  EXPECT_EQ(record.ops[0].interval.start_ns, 18);
  EXPECT_EQ(record.ops[0].interval.end_ns, 20);
}

TEST(ReduceStepTest, OpsAreSortedAndOnlyCommunicationMakesThem) {
  const std::vector<TimeSpan> spans = {{SpanKind::kPull, 7, {4, 5}},
                                       {SpanKind::kPush, 1, {2, 3}},
                                       {SpanKind::kApply, 3, {5, 6}},
                                       {SpanKind::kPush, -1, {0, 1}},
                                       {SpanKind::kPush, 7, {1, 2}}};
  const StepRecord record = ReduceStep(0, {0, 10}, spans);
  ASSERT_THAT(record.ops, SizeIs(2));
  EXPECT_EQ(record.ops[0].op, 1);
  EXPECT_EQ(record.ops[1].op, 7);
  EXPECT_EQ(record.ops[1].interval.start_ns, 1);
  EXPECT_EQ(record.ops[1].interval.end_ns, 5);
  EXPECT_EQ(record.communication_ns, 4);
}

TEST(SpanKindNameTest, NamesAllKinds) {
  EXPECT_EQ(std::string(SpanKindName(SpanKind::kData)), "data");
  EXPECT_EQ(std::string(SpanKindName(SpanKind::kCompute)), "compute");
  EXPECT_EQ(std::string(SpanKindName(SpanKind::kPush)), "push");
  EXPECT_EQ(std::string(SpanKindName(SpanKind::kPull)), "pull");
  EXPECT_EQ(std::string(SpanKindName(SpanKind::kReduce)), "reduce");
  EXPECT_EQ(std::string(SpanKindName(SpanKind::kApply)), "apply");
}

TEST(TimelineTest, RecordsAStepOnTheInjectedClock) {
  ManualClock clock;
  clock.Advance(100);
  Timeline timeline(clock);
  timeline.BeginStep(0);
  {
    ScopedSpan span(timeline, SpanKind::kCompute);
    clock.Advance(30);
  }
  {
    ScopedSpan span(timeline, SpanKind::kReduce, 2);
    clock.Advance(10);
  }
  timeline.AddHeld(4);
  timeline.AddHeld(3);
  clock.Advance(1);
  const StepRecord record = timeline.EndStep(64, 2.5);
  EXPECT_EQ(record.samples, 64);
  EXPECT_EQ(record.loss, 2.5);
  EXPECT_EQ(record.interval.start_ns, 100);
  EXPECT_EQ(record.interval.end_ns, 141);
  EXPECT_EQ(record.compute_ns, 30);
  EXPECT_EQ(record.communication_ns, 10);
  EXPECT_EQ(record.covered_ns, 40);
  EXPECT_EQ(record.held_ns, 7);
  ASSERT_THAT(record.ops, SizeIs(1));
  EXPECT_EQ(record.ops[0].op, 2);
  ASSERT_THAT(timeline.steps(), SizeIs(1));
  EXPECT_EQ(timeline.steps()[0].compute_ns, 30);
  EXPECT_EQ(timeline.steps()[0].loss, 2.5);
}

TEST(TimelineTest, StepsDoNotLeakIntoEachOther) {
  ManualClock clock;
  Timeline timeline(clock);
  timeline.Record(SpanKind::kCompute, -1, 0, 5);
  timeline.AddHeld(9);
  timeline.BeginStep(0);
  timeline.Record(SpanKind::kCompute, -1, 0, 4);
  timeline.AddHeld(2);
  clock.Advance(10);
  EXPECT_EQ(timeline.EndStep(1, 0).compute_ns, 4);
  // Between steps: dropped.
  timeline.Record(SpanKind::kPush, 0, 10, 12);
  clock.Advance(5);
  timeline.BeginStep(1);
  clock.Advance(10);
  const StepRecord second = timeline.EndStep(1, 0);
  EXPECT_EQ(second.interval.start_ns, 15);
  EXPECT_EQ(second.covered_ns, 0);
  EXPECT_EQ(second.held_ns, 0);
  EXPECT_THAT(second.ops, IsEmpty());
}

TEST(TimelineTest, KeepsEverySecondStepPastTheMaximum) {
  ManualClock clock;
  Timeline timeline(clock);
  constexpr int kMax = Timeline::kMaxRecordedSteps;
  int64_t step = 0;
  const auto run_to = [&](int64_t end) {
    for (; step < end; ++step) {
      timeline.BeginStep(step);
      clock.Advance(step + 1);
      timeline.EndStep(1, 0);
    }
  };
  const auto expect_stride = [&](int64_t stride) {
    const std::vector<StepRecord> steps = timeline.steps();
    ASSERT_EQ(static_cast<int64_t>(steps.size()), (step + stride - 1) / stride);
    for (size_t i = 0; i < steps.size(); ++i) {
      ASSERT_EQ(steps[i].step, static_cast<int64_t>(i) * stride);
      ASSERT_EQ(steps[i].interval.end_ns - steps[i].interval.start_ns, steps[i].step + 1);
    }
  };
  run_to(kMax);
  expect_stride(1);
  run_to(kMax + 1);
  expect_stride(2);
  run_to(2 * kMax);
  expect_stride(2);
  run_to(2 * kMax + 1);
  expect_stride(4);
}

TEST(TimelineTest, RanksThatStartApartKeepTheSameSteps) {
  ManualClock clock;
  Timeline timeline(clock);
  for (int64_t step = 1001; step < 1001 + 2 * Timeline::kMaxRecordedSteps; ++step) {
    timeline.BeginStep(step);
    timeline.EndStep(1, 0);
  }
  for (const StepRecord& record : timeline.steps()) ASSERT_EQ(record.step % 2, 0);
  EXPECT_THAT(timeline.steps(), SizeIs(Timeline::kMaxRecordedSteps));
}

TEST(TimelineTest, KeepsTheSpansOfNamedStepsWhole) {
  ManualClock clock;
  Timeline timeline(clock);
  timeline.KeepSpansOf({1, 3});
  for (int64_t step = 0; step < 3; ++step) {
    timeline.BeginStep(step);
    timeline.Record(SpanKind::kPush, static_cast<int>(step), -5, 50);
    timeline.Record(SpanKind::kCompute, -1, 0, 10);
    clock.Advance(10);
    timeline.EndStep(1, 0);
  }
  const auto kept = timeline.kept_spans();
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept[0].step, 1);
  ASSERT_THAT(kept[0].spans, SizeIs(2));
  EXPECT_EQ(kept[0].spans[0].kind, SpanKind::kPush);
  EXPECT_EQ(kept[0].spans[0].op, 1);
  EXPECT_EQ(kept[0].spans[0].interval.start_ns, -5);
  EXPECT_EQ(kept[0].spans[0].interval.end_ns, 50);
}

TEST(TimelineTest, KeepsTheSpansOfTheSlowestSteps) {
  ManualClock clock;
  Timeline timeline(clock);
  timeline.KeepSlowest(2, 1);
  int64_t step = 0;
  for (const int64_t length_ns : {90, 10, 70, 30, 80, 30}) {
    timeline.BeginStep(step++);
    timeline.Record(SpanKind::kCompute, -1, clock.NowNs(), clock.NowNs() + length_ns);
    clock.Advance(length_ns);
    timeline.EndStep(1, 0);
  }
  // Step 0, the longest, comes before the first that counts.
  const auto slowest = timeline.slowest_spans();
  ASSERT_THAT(slowest, SizeIs(2));
  EXPECT_EQ(slowest[0].step, 2);
  EXPECT_EQ(slowest[0].length_ns, 70);
  EXPECT_EQ(slowest[1].step, 4);
  ASSERT_THAT(slowest[1].spans, SizeIs(1));
  EXPECT_EQ(slowest[1].spans[0].interval.end_ns, 90 + 10 + 70 + 30 + 80);
  EXPECT_THAT(timeline.kept_spans(), SizeIs(0));
}

TEST(TimelineTest, AKeptStepIsBounded) {
  ManualClock clock;
  Timeline timeline(clock);
  timeline.KeepSpansOf({0});
  timeline.KeepSlowest(1, 0);
  timeline.BeginStep(0);
  for (size_t i = 0; i < Timeline::kMaxKeptSpans + 10; ++i) {
    timeline.Record(SpanKind::kPush, 0, 0, 1);
  }
  timeline.EndStep(1, 0);
  EXPECT_THAT(timeline.kept_spans()[0].spans, SizeIs(Timeline::kMaxKeptSpans));
  EXPECT_THAT(timeline.slowest_spans()[0].spans, SizeIs(Timeline::kMaxKeptSpans));
}

TEST(TimelineTest, TwoThreadsRecordAtOnce) {
  constexpr int kSpans = 2000;
  SystemClock clock;
  Timeline timeline(clock);
  timeline.KeepSpansOf({0});
  timeline.BeginStep(0);
  std::thread communication([&] {
    for (int i = 0; i < kSpans; ++i) {
      ScopedSpan span(timeline, SpanKind::kReduce, i % 7);
      timeline.AddHeld(1);
    }
  });
  for (int i = 0; i < kSpans; ++i) ScopedSpan span(timeline, SpanKind::kCompute);
  communication.join();
  const StepRecord record = timeline.EndStep(1, 0);
  EXPECT_EQ(record.held_ns, kSpans);
  EXPECT_THAT(record.ops, SizeIs(7));
  EXPECT_LE(record.covered_ns, record.interval.end_ns - record.interval.start_ns);
  ASSERT_THAT(timeline.kept_spans(), SizeIs(1));
  EXPECT_THAT(timeline.kept_spans()[0].spans, SizeIs(2 * kSpans));
}

TEST(TimelineTest, RecordingWhileStepsGoByIsSafe) {
  SystemClock clock;
  Timeline timeline(clock);
  std::thread communication([&] {
    for (int i = 0; i < 2000; ++i) ScopedSpan span(timeline, SpanKind::kPush, 0);
  });
  for (int64_t step = 0; step < 200; ++step) {
    timeline.BeginStep(step);
    const StepRecord record = timeline.EndStep(1, 0);
    EXPECT_LE(record.communication_ns, record.interval.end_ns - record.interval.start_ns);
  }
  communication.join();
  EXPECT_THAT(timeline.steps(), SizeIs(200));
}

TEST(TimelineDeathTest, StepsBeginAndEndInTurnAndGoUp) {
  ManualClock clock;
  Timeline timeline(clock);
  EXPECT_DEATH(timeline.EndStep(1, 0), "BeginStep comes before EndStep");
  timeline.BeginStep(4);
  EXPECT_DEATH(timeline.BeginStep(5), "EndStep comes before the next BeginStep");
  timeline.EndStep(1, 0);
  EXPECT_DEATH(timeline.BeginStep(4), "steps go up");
}

}  // namespace
}  // namespace crossover
