#include "core/clock.h"

#include "gtest/gtest.h"

namespace crossover {
namespace {

TEST(ManualClockTest, MovesOnlyWhenTold) {
  ManualClock clock;
  EXPECT_EQ(clock.NowNs(), 0);
  clock.Advance(5);
  clock.SleepNs(7);
  EXPECT_EQ(clock.NowNs(), 12);
  clock.Advance(-3);
  clock.SleepNs(-3);
  EXPECT_EQ(clock.NowNs(), 12);
}

TEST(SystemClockTest, NeverGoesBackAndSleepsAtLeastAsLongAsAsked) {
  SystemClock clock;
  const int64_t start_ns = clock.NowNs();
  EXPECT_GT(start_ns, 0);
  clock.SleepNs(2'000'000);
  EXPECT_GE(clock.NowNs() - start_ns, 2'000'000);
  const int64_t before_ns = clock.NowNs();
  clock.SleepNs(0);
  clock.SleepNs(-1'000'000'000'000);  // returns at once
  EXPECT_GE(clock.NowNs(), before_ns);
}

TEST(SystemClockTest, AllInstancesShareOneTime) {
  SystemClock first;
  SystemClock second;
  const int64_t earlier_ns = first.NowNs();
  EXPECT_GE(second.NowNs(), earlier_ns);
}

}  // namespace
}  // namespace crossover
