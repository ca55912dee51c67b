#include "experiments/report/report_markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "experiments/results/result_fixture.h"

namespace crossover::experiments {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportMarkdownTest, HoldsEverySection) {
  const std::string report = ReportMarkdown(MadeUpComparison(3));
  for (const char* part :
       {"allreduce\\_ring had the highest throughput of those that synchronise", "### Speed",
        "### Learning", "### Bytes", "### Resources and cost", "### Staleness",
        "### Who the others waited for", "### Workers", "### Servers", "### Environment",
        "### Run it again", "experiments/run --repetitions=3 --seed=1", "global_batch: 512",
        "docs/METRICS.md", "range of 3 repetitions", "c3255eb0f7f3 with local changes",
        "openblas-openmp"}) {
    EXPECT_THAT(report, HasSubstr(part));
  }
}

TEST(ReportMarkdownTest, TheEnvironmentHasTheClocksOfHosts) {
  std::vector<RunResult> results = MadeUpComparison(1);
  EXPECT_THAT(ReportMarkdown(results), Not(HasSubstr("Time of day")));
  for (RunResult& run : results) {
    run.network.kind = "hosts";
    run.network.probe = {{"a", 117e6, 116e6, 0, 120, -.002, .0004},
                         {"b", 117e6, 116e6, 0, 120, 18000, .1}};
  }
  EXPECT_THAT(
      ReportMarkdown(results),
      HasSubstr("| Time of day on the hosts | a -2.0 ms (within 400 us), b +300 min (within "
                "100.0 ms); against the launcher's, before the runs |"));
}

TEST(ReportMarkdownTest, RowsHaveAsManyCellsAsTheirHeading) {
  const std::string report = ReportMarkdown(MadeUpComparison(2));
  size_t expected = 0;
  for (size_t at = 0; at < report.size();) {
    const size_t end = report.find('\n', at);
    const std::string line = report.substr(at, end - at);
    at = end + 1;
    if (line.empty() || line[0] != '|') {
      expected = 0;
      continue;
    }
    const size_t bars = std::count(line.begin(), line.end(), '|');
    if (expected == 0) expected = bars;
    EXPECT_EQ(bars, expected) << line;
  }
}

TEST(ReportMarkdownTest, TextsFromRunsCannotBecomeMarkup) {
  std::vector<RunResult> results = MadeUpComparison(2);
  results[0].failure = "a | b <script>alert(1)</script>\n# heading";
  results[1].environment.hostname = "*host* `x` [y](z)";
  results[0].environment.hostname = results[1].environment.hostname;
  results[1].resolved_job = results[0].resolved_job = "```\n# not a heading\n";
  const std::string report = ReportMarkdown(results);
  EXPECT_THAT(report, Not(HasSubstr("<script>")));
  EXPECT_THAT(report, HasSubstr("a \\| b &lt;script&gt;alert(1)&lt;/script&gt; \\# heading"));
  EXPECT_THAT(report, Not(HasSubstr("*host* `x`")));
}

TEST(ReportMarkdownTest, ACodeBlockCannotBeLeft) {
  std::vector<RunResult> results = {MadeUpRun("single", 0, 0, 100, .88)};
  results[0].resolved_job = "```\n# not a heading\n";
  EXPECT_THAT(ReportMarkdown(results), HasSubstr("````\n```\n# not a heading\n````\n"));
}

TEST(ReportMarkdownTest, NothingOrOnlyFailures) {
  EXPECT_THAT(ReportMarkdown({}), HasSubstr("No run has ended yet."));
  std::vector<RunResult> results = MadeUpComparison(1);
  for (RunResult& run : results) run.failure = "no such host";
  const std::string report = ReportMarkdown(results);
  EXPECT_THAT(report, HasSubstr("No run succeeded"));
  EXPECT_THAT(report, HasSubstr("- ps\\_sync, repetition 1, failed: no such host"));
  EXPECT_THAT(report, Not(HasSubstr("### Speed")));
}

TEST(ReportMarkdownTest, EachJobHasItsOwnSection) {
  std::vector<RunResult> results = MadeUpComparison(2);
  for (size_t i = 6; i < 12; ++i) results[i].model = "lenet";
  const std::string report = ReportMarkdown(results);
  EXPECT_THAT(report, HasSubstr("## fashion-mlp (mlp)"));
  EXPECT_THAT(report, HasSubstr("## fashion-mlp (lenet)"));
}

}  // namespace
}  // namespace crossover::experiments
