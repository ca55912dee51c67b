#include "core/averaging.h"

#include <algorithm>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> AveragedSteps(const AveragingSchedule& schedule, int64_t steps) {
  std::vector<int64_t> averaged;
  for (int64_t step = 0; step < steps; ++step) {
    if (schedule.AveragesAfter(step)) averaged.push_back(step);
  }
  return averaged;
}

TEST(AveragingScheduleTest, AveragesEveryHSteps) {
  EXPECT_THAT(AveragedSteps({.local_steps = 4}, 10), ElementsAre(0, 4, 8));
  EXPECT_THAT(AveragedSteps({.local_steps = 1}, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(AveragedSteps({.local_steps = 100}, 50), ElementsAre(0));
}

TEST(AveragingScheduleTest, TheFirstPhaseAveragesEveryStepThenCountsFromItsEnd) {
  const AveragingSchedule schedule = {.local_steps = 4, .first_phase_steps = 3};
  EXPECT_THAT(AveragedSteps(schedule, 12), ElementsAre(0, 1, 2, 3, 7, 11));
  EXPECT_TRUE(schedule.InFirstPhase(2));
  EXPECT_FALSE(schedule.InFirstPhase(3));
}

TEST(OuterOptimizerTest, LearningRate1AndMomentum0GiveTheMeanToTheBit) {
  // 1e8 - (1e8 - 0.1) is 0 in fp32.
  OuterOptimizer outer(1, 0, 3);
  EXPECT_TRUE(outer.IsPlainAverage());
  EXPECT_EQ(outer.state_bytes(), 0);
  std::vector<float> parameters = {1e8f, -3, 0.5f};
  const std::vector<float> mean = {0.1f, 1e-30f, 0.7f};
  outer.Apply(0, parameters, mean);
  EXPECT_EQ(parameters, mean);
}

TEST(OuterOptimizerTest, WithoutMomentumItGoesPartOfTheWay) {
  OuterOptimizer outer(0.5, 0, 2);
  EXPECT_FALSE(outer.IsPlainAverage());
  EXPECT_EQ(outer.state_bytes(), 0);
  std::vector<float> parameters = {4, -1};
  outer.Apply(0, parameters, std::vector<float>{2, 1});
  EXPECT_THAT(parameters, ElementsAre(3, 0));
}

TEST(OuterOptimizerTest, NesterovMomentumByHand) {
  // lr 0.5, mu 0.5. First: g = 4 - 2 = 2, v = 2, theta = 4 - 0.5 (2 + 1) = 2.5.
  // Second: g = 2.5 - 2 = 0.5, v = 1.5, theta = 2.5 - 0.5 (0.5 + 0.75) = 1.875.
  OuterOptimizer outer(0.5, 0.5, 1);
  EXPECT_FALSE(outer.IsPlainAverage());
  EXPECT_EQ(outer.state_bytes(), 4);
  std::vector<float> parameters = {4};
  outer.Apply(0, parameters, std::vector<float>{2});
  EXPECT_THAT(parameters, ElementsAre(2.5f));
  outer.Apply(0, parameters, std::vector<float>{2});
  EXPECT_THAT(parameters, ElementsAre(1.875f));
}

TEST(OuterOptimizerTest, MomentumWithLearningRate1IsNotPlain) {
  OuterOptimizer outer(1, 0.9, 1);
  EXPECT_FALSE(outer.IsPlainAverage());
}

TEST(OuterOptimizerTest, CuttingTheStretchChangesNoBit) {
  constexpr size_t kLength = 101;
  OuterOptimizer whole_outer(0.7, 0.9, kLength);
  OuterOptimizer cut_outer(0.7, 0.9, kLength);
  std::vector<float> whole(kLength);
  for (size_t i = 0; i < kLength; ++i) whole[i] = 1.0f / static_cast<float>(i + 1);
  std::vector<float> cut = whole;
  for (int round = 0; round < 3; ++round) {
    std::vector<float> mean(kLength);
    for (size_t i = 0; i < kLength; ++i) mean[i] = 0.1f * static_cast<float>(i % 7 + round);
    whole_outer.Apply(0, whole, mean);
    for (size_t start = 0, length = 1 + round; start < kLength; start += length) {
      length = std::min(length + 2, kLength - start);
      cut_outer.Apply(static_cast<int64_t>(start), std::span(cut).subspan(start, length),
                      std::span(mean).subspan(start, length));
    }
    ASSERT_EQ(cut, whole);
  }
}

TEST(OuterOptimizerDeathTest, RefusesRangesOutsideTheStretch) {
  OuterOptimizer outer(1, 0, 2);
  std::vector<float> parameters(2);
  const std::vector<float> mean(2);
  EXPECT_DEATH(outer.Apply(1, parameters, mean), "lies in the stretch");
  EXPECT_DEATH(outer.Apply(-1, parameters, mean), "lies in the stretch");
  EXPECT_DEATH(outer.Apply(0, parameters, std::span(mean).first(1)), "has one mean");
}

TEST(AveragingSchedule, TheFirstPhaseIsAFractionUnlessCounted) {
  proto::LocalSgd config;
  config.set_local_steps(8);
  config.set_first_phase_fraction(0.25);
  EXPECT_EQ(MakeAveragingSchedule(config, 708).first_phase_steps, 177);
  EXPECT_EQ(MakeAveragingSchedule(config, 708).local_steps, 8);
  config.set_first_phase_steps(0);
  EXPECT_EQ(MakeAveragingSchedule(config, 708).first_phase_steps, 0);
}

}  // namespace
}  // namespace crossover
