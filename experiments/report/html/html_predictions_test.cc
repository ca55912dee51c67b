#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "experiments/report/html/html_sections.h"
#include "experiments/results/result_fixture.h"

namespace crossover::experiments {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PredictionSectionTest, ShowsFiguresAndFormulas) {
  std::vector<RunResult> runs = {MadeUpRun("single", 0, 0, 40000, .88),
                                 MadeUpRun("allreduce_ring", 0, 0, 40000, .88)};
  for (RunResult& run : runs) {
    for (const char* name : {"worker0", "worker1", "worker2", "worker3"}) {
      run.network.probe.push_back({name, 125e6, 125e6, 125e6, 500});
    }
  }
  const std::string html = PredictionSection(GroupResults(runs)[0]);
  EXPECT_THAT(html,
              HasSubstr("data-strategy=\"allreduce_ring\" data-metric=\"predicted_step_ms\""));
  EXPECT_THAT(html, HasSubstr("data-metric=\"predicted_share\""));
  EXPECT_THAT(html, HasSubstr("data-metric=\"step_ms_mean\""));
  EXPECT_THAT(html, HasSubstr("2(N-1) alpha"));
  EXPECT_THAT(html, HasSubstr("the base that the others are predicted from"));
  // The base has no prediction of its own.
  EXPECT_THAT(html, Not(HasSubstr("data-strategy=\"single\" data-metric=\"predicted_step_ms\"")));
}

TEST(PredictionSectionTest, SaysWhyNothingIsPredicted) {
  const std::vector<RunResult> runs = MadeUpComparison(2);
  const std::string html = PredictionSection(GroupResults(runs)[0]);
  EXPECT_THAT(html, HasSubstr("Nothing is predicted: the link was not probed"));
  EXPECT_THAT(html, Not(HasSubstr("predicted_step_ms")));
  const std::vector<RunResult> single = {MadeUpRun("single", 0, 0, 40000, .88)};
  EXPECT_EQ(PredictionSection(GroupResults(single)[0]), "");
}

}  // namespace
}  // namespace crossover::experiments
