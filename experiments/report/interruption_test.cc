#include "experiments/report/interruption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/results/result_fixture.h"

namespace crossover::experiments {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> CaveatsOf(const std::vector<RunResult>& results) {
  return InterruptionCaveats(GroupResults(results)[0]);
}

TEST(InterruptionTest, OneGoHasNoCaveat) {
  std::vector<RunResult> results = MadeUpComparison(2);
  EXPECT_THAT(CaveatsOf(results), IsEmpty());
  for (RunResult& run : results) run.planned_runs = 12;
  EXPECT_THAT(CaveatsOf(results), IsEmpty());
}

TEST(InterruptionTest, CountsTheRunsThatAreMissing) {
  std::vector<RunResult> results = MadeUpComparison(2);
  for (RunResult& run : results) run.planned_runs = 18;
  results.back().failure = "lost";
  EXPECT_THAT(CaveatsOf(results), ElementsAre(HasSubstr("12 of 18 planned runs have ended, the "
                                                        "last begun at 2026-03-01T12:00:00Z")));
}

TEST(InterruptionTest, SaysWhenItWasTakenUpAgainAndWhichRepetitionWasSplit) {
  std::vector<RunResult> results = MadeUpComparison(2);
  const auto resume_from = [&](size_t first) {
    for (size_t i = first; i < results.size(); ++i) {
      results[i].resume_time = "2026-03-02T08:00:00Z";
      results[i].start_time = "2026-03-02T08:00:0" + std::to_string(i % 6) + "Z";
    }
  };
  resume_from(6);
  EXPECT_THAT(CaveatsOf(results),
              ElementsAre(AllOf(HasSubstr("from 2026-03-01T12:00:00Z to 2026-03-01T12:00:00Z, then "
                                          "from 2026-03-02T08:00:00Z to 2026-03-02T08:00:05Z"),
                                HasSubstr("no repetition was split"))));
  resume_from(4);
  EXPECT_THAT(CaveatsOf(results), ElementsAre(HasSubstr("in repetition 1, which was split")));
}

}  // namespace
}  // namespace crossover::experiments
