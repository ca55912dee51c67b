#include "ps/status_prometheus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ps/status_fixture.h"

namespace crossover::ps {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  EXPECT_EQ(lines.back(), "");  // every line is ended
  lines.pop_back();
  return lines;
}

TEST(PrometheusText, SaysWhatTheScreenSays) {
  const std::string text = PrometheusText(SomeStatus());
  const std::string common = R"({job_name="a \"small\" job",server="1")";
  for (const char* sample : {
           "info@,strategy=\"ps_ssp\",job_fingerprint=\"00000000000012ab\","
           "address=\"10.0.0.1:40123\",host=\"alpha\"} 1",
           "uptime_seconds@} 72.25",
           "step@} 1041",
           "steps_planned@} 2000",
           "parts@} 4",
           "version@,part=\"lowest\"} 3120",
           "version@,part=\"highest\"} 3123",
           "pushes_total@} 2500",
           "apply_seconds_total@} 1.25",
           "norm_phases_total@} 3120",
           "norm_wait_seconds_total@} 0.75",
           "payload_bytes_total@,direction=\"received\"} 163840000",
           "payload_bytes_total@,direction=\"sent\"} 163774464",
           "memory_bytes@,kind=\"parameters\"} 407080",
           "memory_bytes@,kind=\"resident\"} 23400448",
           "staleness_bucket@,le=\"0\"} 2000",
           "staleness_bucket@,le=\"1\"} 2400",
           "staleness_bucket@,le=\"4\"} 2450",
           "staleness_bucket@,le=\"8\"} 2480",
           "staleness_bucket@,le=\"48\"} 2500",
           "staleness_bucket@,le=\"+Inf\"} 2500",
           "staleness_sum@} 920",
           "staleness_count@} 2500",
           "staleness_max@} 9",
           "worker_state@,worker=\"0\",state=\"connected\"} 1",
           "worker_state@,worker=\"1\",state=\"connected\"} 0",
           "worker_state@,worker=\"1\",state=\"lost\"} 1",
           "worker_state@,worker=\"2\",state=\"awaited\"} 1",
           "worker_step@,worker=\"1\"} 1038",
           "worker_silent_seconds@,worker=\"0\"} 0.012",
           "worker_heartbeat_age_seconds@,worker=\"0\"} 0.41",
           "worker_unanswered_parts@,worker=\"1\"} 8",
           "worker_queued_messages@,worker=\"0\"} 2",
           "worker_queued_bytes@,worker=\"0\"} 131168",
           "worker_late_pushes_total@,worker=\"0\"} 0",
       }) {
    const std::vector<std::string> halves = absl::StrSplit(sample, '@');
    EXPECT_THAT(text,
                HasSubstr(absl::StrCat("\ncrossover_ps_", halves[0], common, halves[1], "\n")))
        << sample;
  }
  EXPECT_THAT(text, Not(HasSubstr("heartbeat_age_seconds" + common + ",worker=\"1\"")));
}

// What a scraper demands: metrics begin with HELP and TYPE, once each, and every sample
// belongs to the metric that was begun last.
TEST(PrometheusText, IsInTheExpositionFormat) {
  std::set<std::string> begun;
  std::string metric;
  bool histogram = false;
  for (const std::string& line : Lines(PrometheusText(SomeStatus()))) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    if (words[1] == "HELP") {
      EXPECT_TRUE(begun.insert(words[2]).second) << line;
      metric = words[2];
      EXPECT_THAT(metric, MatchesRegex("[a-z_]+"));
      EXPECT_FALSE(words[3].empty());
      continue;
    }
    if (words[1] == "TYPE") {
      EXPECT_EQ(words[2], metric);
      EXPECT_THAT(words[3], MatchesRegex("counter|gauge|histogram"));
      histogram = words[3] == "histogram";
      // By convention.
      EXPECT_EQ(words[3] == "counter", metric.ends_with("_total")) << line;
      continue;
    }
    EXPECT_THAT(line,
                MatchesRegex(absl::StrCat(metric, histogram ? "_(bucket|sum|count)" : "",
                                          R"re(\{([a-z_]+="([^"\]|\\.)*",?)+\} -?[0-9.e+]+)re")))
        << metric;
  }
  EXPECT_GE(begun.size(), 20u);
}

TEST(PrometheusText, LabelsAreEscaped) {
  proto::ServerStatus status;
  status.set_job("back\\slash, \"quotes\"\nand lines");
  EXPECT_THAT(
      PrometheusText(status),
      HasSubstr(R"(crossover_ps_step{job_name="back\\slash, \"quotes\"\nand lines",server="0"})"));
}

// Their sum is exact, and no series appears only later.
TEST(PrometheusText, SeriesDoNotDependOnWhatHasHappened) {
  proto::ServerStatus quiet = SomeStatus();
  quiet.clear_totals();
  const auto names = [](const proto::ServerStatus& status) {
    std::vector<std::string> names;
    for (const std::string& line : Lines(PrometheusText(status))) {
      names.push_back(line.substr(0, line.rfind(' ')));
    }
    return names;
  };
  EXPECT_EQ(names(quiet), names(SomeStatus()));
}

}  // namespace
}  // namespace crossover::ps
