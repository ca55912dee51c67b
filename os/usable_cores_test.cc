#include "os/usable_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace crossover::os {
namespace {

TEST(UsableCoresTest, AreThoseOfTheAffinityMask) {
  EXPECT_GE(UsableCores(), 1);
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(UsableCores(), 1);
}

}  // namespace
}  // namespace crossover::os
