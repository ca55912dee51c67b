#include "experiments/report_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "experiments/html_charts.h"
#include "experiments/result_fixture.h"
#include "experiments/summary.h"

namespace crossover::experiments {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// "" if every tag is closed in order, else what is wrong.
std::string WrongTag(const std::string& html) {
  const std::set<std::string> empty = {"meta", "!DOCTYPE"};
  std::vector<std::string> open;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const size_t end = html.find('>', at);
    if (end == std::string::npos) return "an open tag at the end";
    const bool closes = html[at + 1] == '/';
    const size_t name_at = at + (closes ? 2 : 1);
    const std::string name = html.substr(name_at, html.find_first_of(" >/", name_at) - name_at);
    if (closes) {
      if (open.empty() || open.back() != name) return "</" + name + ">";
      open.pop_back();
    } else if (html[end - 1] != '/' && empty.count(name) == 0) {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "<" + open.back() + ">";
}

TEST(EscapeHtmlTest, NothingBreaksOut) {
  EXPECT_EQ(EscapeHtml("<a href=\"x\" b='y'>&</a>"),
            "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;&lt;/a&gt;");
  EXPECT_EQ(EscapeHtml(std::string("a\0b\x1b", 4)), "a b ");
  EXPECT_EQ(EscapeHtml(""), "");
}

TEST(ReportHtmlTest, IsWellFormedAndSelfContained) {
  const std::string page = ReportHtml(MadeUpComparison(3));
  EXPECT_EQ(WrongTag(page), "");
  EXPECT_THAT(page, Not(HasSubstr("http:")));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, Not(HasSubstr("inf%")));
}

TEST(ReportHtmlTest, HoldsEverySection) {
  const std::string page = ReportHtml(MadeUpComparison(3));
  for (const char* part :
       {"allreduce_ring had the highest throughput of those that synchronise", "not a cluster",
        "<h3>Throughput</h3>", "Where a step's time goes", "Training loss against time",
        "Test accuracy against samples", "One step", "<h3>Speed</h3>", "Communication share",
        "title=\"Exposed communication over", "<h3>Environment</h3>",
        "experiments/run --repetitions=3 --seed=1", "global_batch: 512", "docs/METRICS.md",
        "whisker: range of 3 repetitions"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
}

TEST(ReportHtmlTest, TextsFromRunsAreEscaped) {
  const std::string attack = "\"><script>alert('x')</script>";
  std::vector<RunResult> results = MadeUpComparison(2);
  for (RunResult& run : results) {
    run.strategy += attack;
    run.job_name = run.model = attack;
    run.resolved_job = run.rerun_command = attack;
    run.environment.cpu_model = run.environment.hostname = attack;
    run.environment.versions[attack] = attack;
    run.network.interface = attack;
    run.notes = {attack};
    run.worker_figures[0].host = attack;
    run.step_picture.spans[0].kind = attack;
    if (run.straggler) run.straggler->phase = attack;
  }
  results[0].failure = attack;
  const std::string page = ReportHtml(results);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("\">&lt;script")));
  EXPECT_EQ(WrongTag(page), "");
}

TEST(ReportHtmlTest, NothingOrOnlyFailures) {
  EXPECT_THAT(ReportHtml({}), HasSubstr("No run has ended yet."));
  std::vector<RunResult> results = MadeUpComparison(1);
  for (RunResult& run : results) run.failure = "no such host";
  const std::string page = ReportHtml(results);
  EXPECT_EQ(WrongTag(page), "");
  EXPECT_THAT(page, HasSubstr("No run succeeded"));
  EXPECT_THAT(page, HasSubstr("ps_sync, repetition 1, failed: no such host"));
}

TEST(ReportHtmlTest, FiguresThatAreNotThereDoNoHarm) {
  RunResult run;
  run.strategy = "single";
  run.workers = 1;
  run.samples_per_second = std::nan("");
  run.loss_curve = {{0, 0, 0, std::nan("")}};
  run.accuracy_curve = {{0, std::nan(""), 0, .5, .5}};
  run.step_picture.step = 0;
  RunResult other = MadeUpRun("ps_sync", 2, 0, 100, .88);
  other.job_name = other.model = "";
  const std::string page = ReportHtml({run, other});
  EXPECT_EQ(WrongTag(page), "");
  EXPECT_THAT(page, Not(HasSubstr("nan%")));
}

TEST(ChartsTest, BarsStartAtZeroAndScaleWithTheFigure) {
  const std::vector<RunResult> runs = {MadeUpRun("ps_sync", 2, 0, 50, .88),
                                       MadeUpRun("allreduce_ring", 0, 0, 100, .88)};
  const std::string chart = ThroughputChart(GroupResults(runs)[0]);
  EXPECT_THAT(chart, HasSubstr("<rect x=\"0.000%\" width=\"50.000%\""));
  EXPECT_THAT(chart, HasSubstr("<rect x=\"0.000%\" width=\"100.000%\""));
  EXPECT_EQ(CountOf(chart, "<line"), 0);  // one repetition has no whisker
}

TEST(ChartsTest, EveryRepetitionIsDrawn) {
  const std::vector<RunResult> runs = MadeUpComparison(3);
  const Study study = GroupResults(runs)[0];
  EXPECT_EQ(CountOf(CurveChart(study, CurveOf::kLoss, CurveAgainst::kTime), "<polyline"), 18);
  // 6 evaluations of 18 runs, and a marker of each strategy in the legend.
  EXPECT_EQ(CountOf(CurveChart(study, CurveOf::kAccuracy, CurveAgainst::kSamples), "<use"), 114);
}

TEST(ChartsTest, NoCurvesNoChart) {
  std::vector<RunResult> runs = MadeUpComparison(1);
  for (RunResult& run : runs) run.accuracy_curve.clear();
  EXPECT_EQ(CurveChart(GroupResults(runs)[0], CurveOf::kAccuracy, CurveAgainst::kTime), "");
}

}  // namespace
}  // namespace crossover::experiments
