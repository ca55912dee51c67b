#include "experiments/results/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "experiments/results/result_fixture.h"

namespace crossover::experiments {
namespace {

TEST(FormatTest, Numbers) {
  EXPECT_EQ(FormatNumber(0), "0");
  EXPECT_EQ(FormatNumber(0.04213), "0.0421");
  EXPECT_EQ(FormatNumber(0.5), "0.500");
  EXPECT_EQ(FormatNumber(0.9996), "1.00");
  EXPECT_EQ(FormatNumber(12.34), "12.3");
  EXPECT_EQ(FormatNumber(99.96), "100");
  EXPECT_EQ(FormatNumber(1234567.4), "1,234,567");
  EXPECT_EQ(FormatNumber(-1234), "-1,234");
  EXPECT_EQ(FormatNumber(std::nan("")), "n/a");
  EXPECT_EQ(FormatNumber(INFINITY), "n/a");
}

TEST(FormatTest, CountsBytesAndShares) {
  EXPECT_EQ(FormatCount(4), "4");
  EXPECT_EQ(FormatCount(1234), "1,234");
  EXPECT_EQ(FormatCount(2.5), "2.5");
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(999.9), "1.00 kB");
  EXPECT_EQ(FormatBytes(814120), "814 kB");
  EXPECT_EQ(FormatBytes(3.12e9), "3.12 GB");
  EXPECT_EQ(FormatPercent(.3333), "33.3%");
  EXPECT_EQ(FormatAccuracy(.88614), "88.61%");
  EXPECT_EQ(FormatAccuracy(std::nan("")), "n/a");
  EXPECT_EQ(FormatSeconds(-.0000002), "0 us");
  EXPECT_EQ(FormatSeconds(-.0004), "-400 us");
  EXPECT_EQ(FormatSeconds(.9996e-3), "1.0 ms");
  EXPECT_EQ(FormatSeconds(61), "61.0 s");
  EXPECT_EQ(FormatSeconds(-18000), "-300 min");
  EXPECT_EQ(FormatSeconds(std::nan("")), "n/a");
}

TEST(FormatTest, Figures) {
  std::vector<RunResult> runs = {MadeUpRun("ps_sync", 2, 0, 100, .88)};
  EXPECT_EQ(FormatFigure(GroupResults(runs)[0].strategies[0], Throughput, FormatNumber), "100");
  runs.push_back(MadeUpRun("ps_sync", 2, 1, 140, .88));
  runs.push_back(MadeUpRun("ps_sync", 2, 2, 120, .88));
  runs[2].test_accuracy.reset();
  const std::vector<Study> studies = GroupResults(runs);
  const StrategySummary& strategy = studies[0].strategies[0];
  EXPECT_EQ(FormatFigure(strategy, Throughput, FormatNumber), "120 (100 to 140)");
  EXPECT_EQ(FormatFigure(strategy, TestAccuracy, FormatAccuracy), "88.00% [2 of 3]");
  for (RunResult& run : runs) run.test_accuracy.reset();
  EXPECT_EQ(FormatFigure(strategy, TestAccuracy, FormatAccuracy), "n/a");
}

TEST(FormatTest, SpreadsAreNamedForWhatTheyAre) {
  EXPECT_EQ(DescribeSpread(1), "1 repetition");
  EXPECT_EQ(DescribeSpread(5), "range of 5 repetitions");
  EXPECT_EQ(DescribeSpread(6), "bootstrap 95% interval of 6 repetitions (2,000 resamples, seed 1)");
}

}  // namespace
}  // namespace crossover::experiments
