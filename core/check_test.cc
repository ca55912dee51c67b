#include "core/check.h"

#include "gtest/gtest.h"

namespace crossover {
namespace {

TEST(CheckTest, IsSilentAndEvaluatesOnceWhenTheConditionHolds) {
  int evaluations = 0;
  CROSSOVER_CHECK(++evaluations > 0, "it was evaluated");
  EXPECT_EQ(evaluations, 1);
}

TEST(CheckDeathTest, NamesPlaceConditionAndReason) {
  const int held = 1;
  EXPECT_DEATH(CROSSOVER_CHECK(held == 2, "two are held"),
               "core/check_test.cc:[0-9]+: bug: held == 2 does not hold: two are held");
}

}  // namespace
}  // namespace crossover
