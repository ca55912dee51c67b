#include "bench/shared/repetitions.h"

#include <gtest/gtest.h>

namespace crossover::bench {
namespace {

TEST(Repetitions, LastTwentyMillisecondsAndFillTheBudget) {
  const Repetitions small = PlanRepetitions(0, 0.5, 10e-6);
  EXPECT_EQ(small.batch, 2000);  // 20 ms
  EXPECT_EQ(small.count, 25);
  const Repetitions large = PlanRepetitions(0, 0.5, 0.1);
  EXPECT_EQ(large.batch, 1);
  EXPECT_EQ(large.count, 5);
  EXPECT_EQ(PlanRepetitions(0, 0.5, 2).count, 3);
  EXPECT_EQ(PlanRepetitions(7, 0.5, 0.1).count, 7);
  EXPECT_EQ(PlanRepetitions(7, 0.5, 0).batch, 20'000);
}

}  // namespace
}  // namespace crossover::bench
