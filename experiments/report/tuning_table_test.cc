#include "experiments/report/tuning_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/results/result_fixture.h"

namespace crossover::experiments {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

RunResult Tuned(const std::string& strategy, const Tuning& tuning) {
  RunResult run = MadeUpRun(strategy, 2, 0, 40000, .88);
  run.tuning = tuning;
  return run;
}

TEST(TuningTableTest, IsAbsentWithoutASearch) {
  const auto results = MadeUpComparison(1);
  EXPECT_FALSE(TuningTable(GroupResults(results)[0]).has_value());
}

TEST(TuningTableTest, ShowsWhatWasTriedAndChosenAndWhere) {
  const std::string budget = "3 rates from 0.01 to 1, 100 steps each, seed 1";
  const std::vector<RunResult> results = {
      Tuned("ps_sync", {budget, {{.01, .7, 1}, {.1, .8, .5}, {1, std::nullopt, 0}}, .1}),
      Tuned("ps_ssp", {budget, {{.01, .7, 1}, {.1, .6, 1}, {1, .5, 1}}, .01}),
      Tuned("ps_async", {budget, {{.01, {}, 1}, {.1, {}, 1}, {1, {}, 1}}, .2})};
  const auto table = TuningTable(GroupResults(results)[0]);
  ASSERT_TRUE(table.has_value());
  EXPECT_THAT(table->note, AllOf(HasSubstr(budget), HasSubstr("in no figure")));
  EXPECT_THAT(
      table->rows,
      ElementsAre(
          ElementsAre("ps_sync", "0.1", "80.00%", "inside", "0.01: 70.00%, 0.1: 80.00%, 1: none"),
          ElementsAre("ps_ssp", "0.01", "70.00%", "lowest tried",
                      "0.01: 70.00%, 0.1: 60.00%, 1: 50.00%"),
          ElementsAre("ps_async", "0.2", "n/a", "none worked", "0.01: none, 0.1: none, 1: none")));
}

}  // namespace
}  // namespace crossover::experiments
