#include "ps/push_recorder.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "core/timeline.h"

namespace crossover::ps {
namespace {

std::string SpansOf(const PushRecorder& recorder) {
  proto::ServerReport report;
  recorder.AddTo(report);
  std::string text;
  for (const proto::Span& span : report.spans()) {
    absl::StrAppend(&text, span.step(), " ", span.kind(), " ", span.op(), " ", span.start_ns(), "-",
                    span.end_ns(), "\n");
  }
  return text;
}

TEST(PushRecorderTest, FromTheFirstPushToTheLastUpdate) {
  PushRecorder recorder({3, 7});
  recorder.Record(3, 0, {10, 12}, false);
  recorder.Record(3, 1, {14, 15}, false);
  recorder.Record(3, 0, {20, 25}, true);
  recorder.Record(3, 0, {26, 28}, true);
  recorder.Record(7, 0, {90, 95}, true);
  EXPECT_EQ(SpansOf(recorder),
            "3 receive 0 10-28\n3 apply 0 20-28\n3 receive 1 14-15\n"
            "7 receive 0 90-95\n7 apply 0 90-95\n");
}

TEST(PushRecorderTest, OtherStepsLeaveNothing) {
  PushRecorder recorder({3, 7});
  for (const int64_t step : {-1, 0, 4, 8}) recorder.Record(step, 0, {1, 2}, true);
  EXPECT_EQ(SpansOf(recorder), "");
  PushRecorder none({});
  none.Record(0, 0, {1, 2}, true);
  EXPECT_EQ(SpansOf(none), "");
}

TEST(PushRecorderTest, IsBounded) {
  PushRecorder recorder({0});
  for (int bucket = 0; bucket < 10000; ++bucket) recorder.Record(0, bucket, {1, 2}, true);
  proto::ServerReport report;
  recorder.AddTo(report);
  EXPECT_EQ(report.spans_size(), static_cast<int>(Timeline::kMaxKeptSpans));
}

}  // namespace
}  // namespace crossover::ps
