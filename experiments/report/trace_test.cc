#include "experiments/report/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/report/report_fixture.h"
#include "nlohmann/json.hpp"

namespace crossover::experiments {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

// Times in milliseconds on the rendezvous's clock.
void AddSpan(proto::ProcessReport& report, bool sample, const std::string& kind, int64_t step,
             int op, int64_t start_ms, int64_t end_ms) {
  proto::Span& span = sample ? *report.mutable_worker()->add_sample_spans()
                             : *report.mutable_worker()->add_trace_spans();
  span.set_kind(kind);
  span.set_step(step);
  span.set_op(op);
  span.set_start_ns(start_ms * kMs - report.clock_offset_ns());
  span.set_end_ns(end_ms * kMs - report.clock_offset_ns());
}

// TwoRanks' three steps of 100 ms: the middle one a sample, the last kept beside it. The
// clock of worker 1 is a second behind.
std::vector<proto::ProcessReport> KeptRanks() {
  std::vector<proto::ProcessReport> reports = TwoRanks();
  for (proto::ProcessReport& report : reports) {
    AddSpan(report, true, "data", 1, -1, 100, 105);
    AddSpan(report, true, "compute", 1, -1, 105, 160);
    AddSpan(report, true, "reduce", 1, 0, 140, 170);
    AddSpan(report, true, "reduce", 1, 1, 165, 195);
    AddSpan(report, true, "apply", 1, -1, 195, 199);
    AddSpan(report, false, "compute", 2, -1, 205, 300);
  }
  return reports;
}

proto::Job Ring(int workers = 2) { return TestJob(proto::Strategy::allreduce_ring, workers); }

Json Traced(const proto::Job& job, const std::vector<proto::ProcessReport>& reports,
            size_t limit_bytes = kTraceBytes) {
  const absl::StatusOr<std::string> text = TraceJson(job, reports, limit_bytes);
  EXPECT_TRUE(text.ok()) << text.status();
  if (!text.ok()) return Json();
  EXPECT_LE(text->size(), limit_bytes);
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(json.is_discarded());
  return json;
}

std::vector<Json> EventsOf(const Json& trace, int pid, const std::string& phases) {
  std::vector<Json> events;
  for (const Json& event : trace["traceEvents"]) {
    if (event["pid"] == pid && phases.find(event["ph"].get<std::string>()) != std::string::npos) {
      events.push_back(event);
    }
  }
  return events;
}

std::string MetadataOf(const Json& trace, int pid, const std::string& name, int tid = 0) {
  for (const Json& event : EventsOf(trace, pid, "M")) {
    if (event["name"] == name && event["tid"] == tid) {
      return event["args"].begin().value().get<std::string>();
    }
  }
  return "missing";
}

TEST(TraceTest, NamesProcessesAndLanes) {
  const Json trace = Traced(Ring(), KeptRanks());
  EXPECT_EQ(trace["displayTimeUnit"], "ms");
  EXPECT_EQ(trace["otherData"]["strategy"], "allreduce_ring");
  EXPECT_EQ(trace["otherData"]["clocks_agree_within_ms"], "0.500");
  EXPECT_EQ(MetadataOf(trace, 0, "process_name"), "worker 0, h");
  EXPECT_EQ(MetadataOf(trace, 1, "process_name"), "worker 1, h");
  EXPECT_EQ(MetadataOf(trace, 1, "thread_name", 1), "compute");
  EXPECT_EQ(MetadataOf(trace, 1, "thread_name", 4), "communication");
}

TEST(TraceTest, SpansOfAllRanksLieOnOneClock) {
  const Json trace = Traced(Ring(), KeptRanks());
  for (const int pid : {0, 1}) {
    const std::vector<Json> complete = EventsOf(trace, pid, "X");
    ASSERT_EQ(complete.size(), 6u) << pid;
    EXPECT_EQ(complete[0]["name"], "step 1 (first measured, ordinary, slowest)");
    EXPECT_EQ(complete[0]["ts"], 100000.0);
    EXPECT_EQ(complete[0]["dur"], 99000.0);
    EXPECT_EQ(complete[1]["name"], "data");
    EXPECT_EQ(complete[2]["name"], "compute");
    EXPECT_EQ(complete[2]["tid"], 1);
    EXPECT_EQ(complete[2]["ts"], 105000.0);
    EXPECT_EQ(complete[2]["dur"], 55000.0);
    EXPECT_EQ(complete[2]["args"]["step"], 1);
    EXPECT_EQ(complete[4]["name"], "step 2 (last)");
  }
}

TEST(TraceTest, OverlappingOperationsAreAsyncPairs) {
  const Json trace = Traced(Ring(), KeptRanks());
  std::map<std::string, std::vector<Json>> by_id;
  for (const int pid : {0, 1}) {
    for (const Json& event : EventsOf(trace, pid, "be")) by_id[event["id"]].push_back(event);
  }
  ASSERT_EQ(by_id.size(), 4u);
  std::set<std::string> names;
  for (const auto& [id, events] : by_id) {
    ASSERT_EQ(events.size(), 2u) << id;
    EXPECT_EQ(events[0]["ph"], "b");
    EXPECT_EQ(events[1]["ph"], "e");
    EXPECT_EQ(events[0]["name"], events[1]["name"]);
    EXPECT_EQ(events[0]["cat"], events[1]["cat"]);
    EXPECT_EQ(events[0]["pid"], events[1]["pid"]);
    EXPECT_EQ(events[1]["ts"].get<double>() - events[0]["ts"].get<double>(), 30000);
    names.insert(events[0]["name"]);
  }
  EXPECT_THAT(names, ElementsAre("reduce bucket 0", "reduce bucket 1"));
}

TEST(TraceTest, TimesGoUp) {
  const Json trace = Traced(Ring(), KeptRanks());
  double last = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "M") continue;
    EXPECT_GE(event["ts"].get<double>(), last);
    last = event["ts"].get<double>();
  }
  EXPECT_EQ(last, 205000.0);
}

TEST(TraceTest, ServersComeAfterTheWorkers) {
  std::vector<proto::ProcessReport> reports = KeptRanks();
  for (int rank = 0; rank < 2; ++rank) {
    proto::ProcessReport& server = reports.emplace_back(Server(rank));
    server.set_clock_offset_ns(500 * kMs);
    server.mutable_server()->set_apply_ns(42 * kMs);
    proto::Span& span = *server.mutable_server()->add_spans();
    span.set_kind("apply");
    span.set_step(1);
    span.set_op(0);
    span.set_start_ns((150 - 500) * kMs);
    span.set_end_ns((160 - 500) * kMs);
  }
  const Json trace = Traced(TestJob(proto::Strategy::ps_sync, 2), reports);
  EXPECT_EQ(MetadataOf(trace, 2, "process_name"), "server 0");
  EXPECT_EQ(MetadataOf(trace, 3, "process_labels"), "42.0 ms of summing and applying in the run");
  // Steps of a server overlap where nobody waits, so all of its spans are async.
  EXPECT_TRUE(EventsOf(trace, 3, "X").empty());
  const std::vector<Json> events = EventsOf(trace, 3, "b");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["name"], "step 1 (first measured, ordinary, slowest)");
  EXPECT_NE(events[0]["id"], events[1]["id"]);
  EXPECT_EQ(events[1]["name"], "apply bucket 0");
  EXPECT_EQ(events[1]["tid"], 3);
  EXPECT_EQ(events[1]["ts"], 150000.0);
}

TEST(TraceTest, ChoosesFirstOrdinarySlowestAndLast) {
  std::vector<proto::ProcessReport> reports;
  for (const int rank : {0, 1}) {
    std::vector<Step> steps;
    int64_t start = 0;
    for (const int64_t length : {500, 100, 100, 110, 100, 300, 100, 100}) {
      Step step;
      step.start = start;
      step.length = length;
      step.compute = step.covered = length;
      steps.push_back(step);
      start += length;
    }
    reports.push_back(Worker(rank, 0, steps));
    for (const int64_t index : {0, 1, 3, 4, 5, 7}) {
      // Step 3 only on rank 0.
      if (index == 3 && rank == 1) continue;
      const Step& step = steps[index];
      AddSpan(reports.back(), index == 3 || index == 4, "compute", index, -1, step.start,
              step.start + step.length);
    }
  }
  const absl::StatusOr<AlignedRun> run = AlignReports(Ring(), reports);
  ASSERT_TRUE(run.ok()) << run.status();
  std::vector<std::string> chosen;
  for (const ChosenStep& step : ChooseSteps(*run)) {
    chosen.push_back(absl::StrCat(step.step, " ", step.why));
  }
  // The warm-up step 0 is longer, but not measured.
  EXPECT_THAT(chosen, ElementsAre("1 first measured, ordinary", "5 slowest", "7 last"));
}

TEST(TraceTest, WithoutKeptSpansOnlyNamesAreLeft) {
  const Json trace = Traced(Ring(), TwoRanks());
  for (const Json& event : trace["traceEvents"]) EXPECT_EQ(event["ph"], "M");
}

TEST(TraceTest, LeavesOutWhatDoesNotFit) {
  std::vector<proto::ProcessReport> reports = KeptRanks();
  AddSpan(reports[0], true, "<b>\"kind", 1, 0, 100, 110);
  AddSpan(reports[0], true, "push", 1, 0, 110, 100);
  proto::Span& far = *reports[0].mutable_worker()->add_sample_spans();
  far.set_kind("push");
  far.set_step(1);
  far.set_start_ns(std::numeric_limits<int64_t>::min());
  reports[0].set_host("a\"b\\\xff");
  const Json trace = Traced(Ring(), reports);
  EXPECT_EQ(EventsOf(trace, 1, "be").size(), 4u);
  EXPECT_THAT(MetadataOf(trace, 1, "process_name"), HasSubstr("a\"b\\"));
}

TEST(TraceTest, AnEmptyOperationStillEndsAfterItsBeginning) {
  std::vector<proto::ProcessReport> reports = TwoRanks();
  AddSpan(reports[0], true, "push", 1, 0, 120, 120);
  const std::vector<Json> events = EventsOf(Traced(Ring(), reports), 1, "be");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["ph"], "b");
  EXPECT_EQ(events[1]["ph"], "e");
}

// 64 ranks with 200 buckets: steps of 64 x 600 spans.
std::vector<proto::ProcessReport> ManyRanks() {
  std::vector<proto::ProcessReport> reports;
  for (int rank = 0; rank < 64; ++rank) {
    reports.push_back(
        Worker(rank, rank, {Quick(0), Quick(100), Quick(200), Slow(300), Quick(400), Quick(500)}));
    for (int64_t step = 1; step < 6; ++step) {
      for (int bucket = 0; bucket < 200; ++bucket) {
        const int64_t start = step * 100 + bucket / 4;
        AddSpan(reports.back(), step == 2, "push", step, bucket, start, start + 3);
        AddSpan(reports.back(), step == 2, "pull", step, bucket, start + 3, start + 6);
        AddSpan(reports.back(), step == 2, "apply", step, -1, start + 6, start + 7);
      }
    }
  }
  return reports;
}

TEST(TraceTest, ManyRanksStayBelowTheLimit) {
  const std::vector<proto::ProcessReport> reports = ManyRanks();
  const Json trace = Traced(Ring(64), reports);
  EXPECT_THAT(trace["otherData"]["spans_shown"].get<std::string>(), HasSubstr("one in "));
  // Every rank still has its share.
  const size_t events = EventsOf(trace, 0, "Xbe").size();
  EXPECT_GT(events, 100u);
  EXPECT_EQ(EventsOf(trace, 63, "Xbe").size(), events);
}

TEST(TraceTest, ALimitBelowEverythingLeavesTheNames) {
  const absl::StatusOr<std::string> text = TraceJson(Ring(), KeptRanks(), 10);
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("process_name"));
  EXPECT_TRUE(Json::accept(*text));
}

TEST(TraceTest, RefusesReportsThatDoNotFitTheJob) {
  EXPECT_FALSE(TraceJson(Ring(3), KeptRanks()).ok());
}

}  // namespace
}  // namespace crossover::experiments
