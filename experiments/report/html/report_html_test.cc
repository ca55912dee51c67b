#include "experiments/report/html/report_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "experiments/report/html/html_axis.h"
#include "experiments/report/html/html_curves.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_metric_bars.h"
#include "experiments/report/html/html_sections.h"
#include "experiments/report/report_metrics.h"
#include "experiments/results/result_fixture.h"
#include "experiments/results/summary.h"

namespace crossover::experiments {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The page without scripts and style sheets, which are ours and no markup.
std::string Markup(std::string page) {
  for (const std::string name : {"script", "style"}) {
    for (size_t at = page.find("<" + name); at != std::string::npos;
         at = page.find("<" + name, at)) {
      page.erase(at, page.find("</" + name + ">", at) + name.size() + 3 - at);
    }
  }
  return page;
}

// "" if every tag is closed in order, else what is wrong.
std::string WrongTag(const std::string& html) {
  const std::set<std::string> empty = {"meta", "!DOCTYPE", "br", "input"};
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
  EXPECT_EQ(WrongTag(Markup(page)), "");
  for (const char* reference : {"src=", "href=\"h", "href='", "@import", "url(h", "<link"}) {
    EXPECT_THAT(page, Not(HasSubstr(reference)));
  }
  EXPECT_THAT(Markup(page), AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf%"))));
  EXPECT_LT(page.size(), 1'000'000u);
}

TEST(ReportHtmlTest, HoldsEverySection) {
  const std::string page = ReportHtml(MadeUpComparison(3));
  // Others are for jobs that have something for them: a search, a prediction.
  for (const std::string id : {"throughput", "step", "curves", "learning", "staleness", "ranks",
                               "resources", "bytes", "runs", "environment"}) {
    EXPECT_TRUE(page.find("<h3 id=\"s1-" + id) != std::string::npos) << id;
    EXPECT_TRUE(page.find("<a href=\"#s1-" + id) != std::string::npos) << id;
  }
  for (const char* part :
       {"allreduce_ring had the highest throughput of those that synchronise", "not a cluster",
        "whisker, range of 3 repetitions", "worker 3 \u25c0", "experiments/run --repetitions=3",
        "global_batch: 512", "docs/METRICS.md", "uPlot 1.6.32", "Permission is hereby granted"}) {
    EXPECT_TRUE(page.find(part) != std::string::npos) << part;
  }
}

// Text of a run may be markup, script or JSON that ends its element.
TEST(ReportHtmlTest, TextsFromRunsAreEscaped) {
  const std::string attack = "\"><script>alert('x')</script>";
  std::vector<RunResult> results = MadeUpComparison(2);
  for (RunResult& run : results) {
    run.strategy += attack;
    run.job_name = run.model = attack;
    run.resolved_job = run.rerun_command = run.start_time = run.parameter_fingerprint = attack;
    run.environment.cpu_model = run.environment.hostname = attack;
    run.environment.versions[attack] = attack;
    run.network.interface = run.network.shaping = attack;
    run.notes = {attack};
    run.worker_figures[0].host = attack;
    run.step_picture.spans[0].kind = attack;
    if (run.straggler) run.straggler->phase = attack;
  }
  results[0].failure = attack;
  const std::string page = ReportHtml(results);
  EXPECT_EQ(CountOf(page, "<script>"), 2);  // ours
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(WrongTag(Markup(page)), "");
}

TEST(ReportHtmlTest, NothingOrOnlyFailures) {
  EXPECT_THAT(ReportHtml({}), HasSubstr("No run has ended yet."));
  std::vector<RunResult> results = MadeUpComparison(1);
  for (RunResult& run : results) run.failure = "no such host";
  const std::string page = ReportHtml(results);
  EXPECT_EQ(WrongTag(Markup(page)), "");
  EXPECT_THAT(page, HasSubstr("No run succeeded"));
  EXPECT_THAT(page, HasSubstr("ps_sync, repetition 1, failed: no such host"));
  EXPECT_THAT(page, HasSubstr("<td>failed: no such host</td>"));
}

TEST(ReportHtmlTest, SaysWhatTheNetworkWasAndThatFiguresWereScaledBack) {
  std::vector<RunResult> results = MadeUpComparison(2);
  for (RunResult& run : results) {
    run.nodes = run.workers + run.servers;
    run.network.loopback = false;
    run.network.kind = "lab: kernel qdiscs";
    run.network.shaping = "1gbit,0.5ms";
    run.network.placement = "dedicated";
    run.network.probe = {{"worker0", 117.1e6, 116.9e6, 117.5e6, 1040, -7200, .0015}};
    run.scales = {4, 10};
    run.loss_curve.clear();
    run.accuracy_curve.clear();
    run.test_accuracy.reset();
  }
  const std::string page = ReportHtml(results);
  for (const char* part :
       {"lab: kernel qdiscs, 1gbit,0.5ms, cubic, servers dedicated", "Emulated 4.00 times slower",
        "In nodes, servers&#39; own included: ps_sync 6", "The network before the runs",
        "<td>117</td><td>117</td><td>118</td><td>1,040</td>", "worker0 -120 min (within 1.5 ms)"}) {
    EXPECT_TRUE(page.find(part) != std::string::npos) << part;
  }
  // An emulated model learns nothing.
  EXPECT_TRUE(page.find("s1-learning") == std::string::npos);
  EXPECT_TRUE(page.find("s1-curves") == std::string::npos);
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
  EXPECT_EQ(WrongTag(Markup(page)), "");
  EXPECT_THAT(Markup(page), Not(HasSubstr("nan")));
}

TEST(FigureCellTest, CarriesMedianSpreadAndEachRepetition) {
  const std::vector<RunResult> runs = {MadeUpRun("ps_sync", 2, 0, 40, .88),
                                       MadeUpRun("ps_sync", 2, 1, 50, .88),
                                       MadeUpRun("ps_sync", 2, 2, 90, .88)};
  const std::vector<Study> studies = GroupResults(runs);
  const std::string cell = FigureCell(studies[0].strategies[0], MetricOf("samples_per_second"));
  EXPECT_THAT(cell, HasSubstr("data-strategy=\"ps_sync\" data-metric=\"samples_per_second\" "
                              "data-value=\"50\" data-low=\"40\" data-high=\"90\""));
  EXPECT_THAT(cell, HasSubstr("40.0; 50.0; 90.0"));
  EXPECT_THAT(cell, HasSubstr("50.0<small>(40.0 to 90.0)</small>"));
}

TEST(TextCellTest, SentencesMayBreakIntoLines) {
  EXPECT_EQ(TextCell("lab1"), "<td>lab1</td>");
  EXPECT_EQ(TextCell(std::string(41, 'x')),
            "<td class=\"prose\">" + std::string(41, 'x') + "</td>");
}

TEST(AxisTest, EndsWhereTheDataDo) {
  const Axis axis = MakeAxis(0, 81844, 5);
  EXPECT_EQ(axis.low, 0);
  EXPECT_EQ(axis.high, 81844);
  EXPECT_EQ(axis.ticks, (std::vector<double>{0, 20000, 40000, 60000, 80000}));
  EXPECT_EQ(MakeAxis(-45, 1, 4).ticks, (std::vector<double>{-40, -20, 0}));
  EXPECT_EQ(MakeAxis(3, 3, 4).high, 4);
  EXPECT_EQ(MakeAxis(std::nan(""), 3, 4).high, 1);
}

TEST(MetricBarsTest, StartAtZeroAndShowEveryRepetition) {
  const std::vector<RunResult> once = {MadeUpRun("ps_sync", 2, 0, 50, .88),
                                       MadeUpRun("allreduce_ring", 0, 0, 100, .88)};
  const Metric& metric = MetricOf("samples_per_second");
  const std::vector<Study> of_once = GroupResults(once);
  const std::string bars = MetricBars(of_once[0], metric, "samples/s");
  EXPECT_THAT(bars, HasSubstr("<rect x=\"0%\" width=\"50%\""));
  EXPECT_THAT(bars, HasSubstr("<rect x=\"0%\" width=\"100%\""));
  EXPECT_EQ(CountOf(bars, "whisker"), 0);  // one repetition has none
  const std::vector<RunResult> thrice = MadeUpComparison(3);
  const std::vector<Study> of_thrice = GroupResults(thrice);
  EXPECT_EQ(CountOf(MetricBars(of_thrice[0], metric, "samples/s"), "class=\"dot\""), 18);
}

TEST(CurvesTest, EveryRepetitionAndEveryPointIsDrawn) {
  const std::vector<RunResult> runs = MadeUpComparison(3);
  const std::vector<Study> studies = GroupResults(runs);
  const std::vector<Curve> curves = CurvesOf(studies[0], CurveOf::kLoss, CurveAgainst::kTime);
  ASSERT_EQ(curves.size(), 18u);
  for (const Curve& curve : curves) EXPECT_EQ(curve.points.size(), 200u);
  EXPECT_EQ(CountOf(CurveChart(studies[0], CurveOf::kLoss, CurveAgainst::kTime), "<polyline"), 18);
  // 6 snapshots of 18 runs.
  EXPECT_EQ(CountOf(CurveChart(studies[0], CurveOf::kAccuracy, CurveAgainst::kSamples), "<use"),
            108);
}

TEST(CurvesTest, BytesAreInProportionToSamplesAndSingleSendsNone) {
  const std::vector<RunResult> runs = MadeUpComparison(1);
  const std::vector<Study> studies = GroupResults(runs);
  const std::vector<Curve> curves = CurvesOf(studies[0], CurveOf::kLoss, CurveAgainst::kBytes);
  ASSERT_EQ(curves.size(), 5u);
  const RunResult& run = *curves[0].run;
  EXPECT_EQ(run.strategy, "ps_sync");
  EXPECT_NEAR(curves[0].points.back().first,
              run.bytes_sent_per_step * static_cast<double>(run.synchronisations * run.workers), 1);
  EXPECT_NEAR(curves[0].points[99].first * 2, curves[0].points.back().first, 1);
}

TEST(CurvesTest, NoCurvesNoChart) {
  std::vector<RunResult> runs = MadeUpComparison(1);
  for (RunResult& run : runs) run.accuracy_curve.clear();
  const std::vector<Study> studies = GroupResults(runs);
  EXPECT_EQ(CurveChart(studies[0], CurveOf::kAccuracy, CurveAgainst::kTime), "");
}

TEST(MetricsTest, KeysAreUnique) {
  std::set<std::string> keys;
  for (const Metric& metric : Metrics()) EXPECT_TRUE(keys.insert(metric.key).second) << metric.key;
}

TEST(MetricsTest, MetricsMdHasTheSameDefinitions) {
  std::ifstream file("docs/METRICS.md");
  ASSERT_TRUE(file.is_open());
  std::stringstream text;
  text << file.rdbuf();
  std::istringstream rows(MetricsGlossary());
  for (std::string row; std::getline(rows, row);) {
    EXPECT_TRUE(text.str().find("\n" + row + "\n") != std::string::npos)
        << "the last table of docs/METRICS.md lacks this row:\n"
        << row;
  }
  EXPECT_TRUE(text.str().find(MetricsGlossary()) != std::string::npos)
      << "rows of the last table of docs/METRICS.md are in another order, or there are more";
}

}  // namespace
}  // namespace crossover::experiments
