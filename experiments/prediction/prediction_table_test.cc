#include "experiments/prediction/prediction_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/results/result_fixture.h"

namespace crossover::experiments {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Single, and a ring over a link of 1 Gbit/s that took twice the predicted time.
std::vector<RunResult> ProbedRuns() {
  std::vector<RunResult> runs = {MadeUpRun("single", 0, 0, 40000, .88),
                                 MadeUpRun("allreduce_ring", 0, 0, 40000, .88)};
  for (RunResult& run : runs) {
    for (const char* name : {"worker0", "worker1", "worker2", "worker3"}) {
      run.network.probe.push_back({name, 125e6, 125e6, 125e6, 500});
    }
    run.straggler.reset();
  }
  return runs;
}

TEST(PredictionTableTest, FiguresAndFormulas) {
  const std::vector<RunResult> runs = ProbedRuns();
  const Study study = GroupResults(runs)[0];
  const std::vector<Table> tables = PredictionTables(study);
  ASSERT_EQ(tables.size(), 2u);
  ASSERT_EQ(tables[0].rows.size(), 2u);
  for (const Table& table : tables) {
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.headings.size());
  }
  EXPECT_EQ(tables[0].rows[0][0], "single");
  EXPECT_EQ(tables[0].rows[0][2], "n/a");
  EXPECT_EQ(tables[0].rows[1][0], "allreduce_ring");
  EXPECT_EQ(tables[0].rows[1][1], "12.8");
  EXPECT_NE(tables[0].rows[1][2], "n/a");
  ASSERT_EQ(tables[1].rows.size(), 1u);
  EXPECT_THAT(tables[1].rows[0][1], HasSubstr("2(N-1)/N m/B"));
  EXPECT_THAT(PredictionSentences(study),
              ElementsAre(StartsWith("allreduce_ring: step 12.8 ms, predicted ")));
  EXPECT_EQ(WhyNothingIsPredicted(study), "");
}

TEST(PredictionTableTest, WithoutAProbeTheReasonIsAllThereIs) {
  const std::vector<RunResult> runs = MadeUpComparison(2);
  const Study study = GroupResults(runs)[0];
  EXPECT_TRUE(PredictionTables(study).empty());
  EXPECT_TRUE(PredictionSentences(study).empty());
  EXPECT_THAT(WhyNothingIsPredicted(study), HasSubstr("not probed"));
  const std::vector<RunResult> alone = {MadeUpRun("single", 0, 0, 40000, .88)};
  EXPECT_EQ(WhyNothingIsPredicted(GroupResults(alone)[0]), "");
}

}  // namespace
}  // namespace crossover::experiments
