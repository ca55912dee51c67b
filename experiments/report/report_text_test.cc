#include "experiments/report/report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/results/result_fixture.h"

namespace crossover::experiments {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

TEST(ReportTextTest, FitsAHundredColumns) {
  std::vector<RunResult> results = MadeUpComparison(3);
  results[2].failure = std::string(300, 'x') + " and some words behind it";
  results[0].samples_per_second = 123456789;
  for (const std::string& line : Lines(ReportText(results))) EXPECT_LE(line.size(), 100u) << line;
}

TEST(ReportTextTest, ColumnsAreAligned) {
  const std::vector<std::string> lines = Lines(ReportText(MadeUpComparison(3)));
  ASSERT_GT(lines.size(), 9u);
  EXPECT_EQ(lines[0], "fashion-mlp (mlp)");
  for (int i = 1; i <= 8; ++i) EXPECT_EQ(lines[i].size(), lines[1].size()) << lines[i];
  EXPECT_THAT(lines[3], HasSubstr("single            3/3     41,131"));
  EXPECT_THAT(lines[6], HasSubstr("-         -"));  // ps_async did not reach the target
}

TEST(ReportTextTest, NamesFailuresAndCaveats) {
  std::vector<RunResult> results = MadeUpComparison(3);
  results[1].failure = "worker 1 was\x1b[31m lost\n";
  const std::string text = ReportText(results);
  EXPECT_THAT(text, HasSubstr("ps_sync           2/3"));
  EXPECT_THAT(text, HasSubstr("FAILED  ps_sync, repetition 1, failed: worker 1 was [31m lost"));
  EXPECT_THAT(text, HasSubstr("note    These figures measure this machine"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(ReportTextTest, NothingSaysSo) { EXPECT_EQ(ReportText({}), "No run has ended.\n"); }

}  // namespace
}  // namespace crossover::experiments
