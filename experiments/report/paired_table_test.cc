#include "experiments/report/paired_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/results/result_fixture.h"

namespace crossover::experiments {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<RunResult> Runs(const std::string& strategy, std::vector<double> samples_per_second,
                            double accuracy) {
  std::vector<RunResult> runs;
  for (size_t i = 0; i < samples_per_second.size(); ++i) {
    runs.push_back(
        MadeUpRun(strategy, 2, static_cast<int64_t>(i), samples_per_second[i], accuracy));
  }
  return runs;
}

std::optional<Table> TableOf(std::vector<std::vector<RunResult>> strategies,
                             std::vector<RunResult>& results) {
  for (const auto& runs : strategies) results.insert(results.end(), runs.begin(), runs.end());
  return PairedTable(GroupResults(results)[0]);
}

TEST(PairedTableTest, IsAgainstSingleAndNamesTies) {
  std::vector<RunResult> results;
  const auto table = TableOf({Runs("ps_sync", {1100, 1200}, .87), Runs("single", {1000, 1050}, .88),
                              Runs("ps_ssp", {990, 1100}, .88)},
                             results);
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->title, "Paired differences against single");
  EXPECT_THAT(table->note, HasSubstr("range of 2 repetitions"));
  EXPECT_THAT(table->rows,
              ElementsAre(ElementsAre("ps_sync", "+125 (+100 to +150), higher",
                                      "-1.00 points (-1.00 points to -1.00 points), lower"),
                          ElementsAre("ps_ssp", "+20.0 (-10.0 to +50.0), tie",
                                      "0.00 points (0.00 points to 0.00 points), tie")));
}

TEST(PairedTableTest, WithoutSingleIsAgainstTheFastestAndOneRepetitionDecidesNothing) {
  std::vector<RunResult> results;
  const auto table =
      TableOf({Runs("ps_sync", {1100}, .87), Runs("allreduce_ring", {1300}, .87)}, results);
  ASSERT_TRUE(table.has_value());
  EXPECT_THAT(table->title, HasSubstr("allreduce_ring"));
  ASSERT_EQ(table->rows.size(), 1u);
  EXPECT_THAT(table->rows[0], AllOf(ElementsAre("ps_sync", "-200, too few to tell",
                                                "0.00 points, too few to tell")));
}

TEST(PairedTableTest, OneStrategyHasNone) {
  std::vector<RunResult> results;
  EXPECT_FALSE(TableOf({Runs("single", {1100}, .87)}, results).has_value());
}

}  // namespace
}  // namespace crossover::experiments
