#include "allreduce/patience.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "core/clock.h"

namespace crossover::allreduce {
namespace {

// Time passes by looking at it.
class PassingClock final : public Clock {
 public:
  explicit PassingClock(int64_t step_ns) : step_ns_(step_ns) {}
  int64_t NowNs() const override { return now_ns_ += step_ns_; }
  void SleepNs(int64_t duration_ns) override { now_ns_ += duration_ns; }
  void set_step_ns(int64_t step_ns) { step_ns_ = step_ns; }

 private:
  int64_t step_ns_;
  mutable int64_t now_ns_ = 0;
};

// How often a wait looks again before it blocks.
int LooksUntilBlocked(Patience& patience) {
  int looks = 0;
  while (patience.LookAgain()) ++looks;
  EXPECT_FALSE(patience.LookAgain()) << "one that has blocked blocks again";
  patience.Found();
  return looks;
}

// A wait whose bytes come after `looks` looks.
void Pay(Patience& patience, int looks) {
  for (int i = 0; i < looks; ++i) ASSERT_TRUE(patience.LookAgain());
  patience.Found();
}

TEST(Patience, LooksAsOftenAsItMay) {
  const SystemClock clock;
  Patience patience(5, /*yield=*/false, clock);
  for (int wait = 0; wait < 100; ++wait) Pay(patience, 5);
  EXPECT_EQ(LooksUntilBlocked(patience), 5);
  Patience never(0, /*yield=*/false, clock);
  EXPECT_EQ(LooksUntilBlocked(never), 0);
}

TEST(Patience, SpinsThatDoNotPayBecomeRare) {
  const ManualClock clock;
  Patience patience(5, /*yield=*/true, clock);
  for (int expected = 1; expected < 1023; expected = 2 * expected + 1) {
    EXPECT_EQ(LooksUntilBlocked(patience), 5);
    for (int wait = 0; wait < expected; ++wait) EXPECT_EQ(LooksUntilBlocked(patience), 0);
  }
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(LooksUntilBlocked(patience), 5);
    for (int wait = 0; wait < 1023; ++wait) EXPECT_EQ(LooksUntilBlocked(patience), 0);
  }
}

TEST(Patience, ComesBackWhenSpinsPayAgain) {
  const SystemClock clock;
  Patience patience(5, /*yield=*/false, clock);
  EXPECT_EQ(LooksUntilBlocked(patience), 5);
  EXPECT_EQ(LooksUntilBlocked(patience), 0);
  for (int wait = 0; wait < 32; ++wait) Pay(patience, 1);
  EXPECT_EQ(LooksUntilBlocked(patience), 5);  // the first of a new series
  EXPECT_EQ(LooksUntilBlocked(patience), 0);
  Pay(patience, 1);
}

TEST(Patience, AFewThatPayDoNotWipeOutOneThatDidNot) {
  const SystemClock clock;
  Patience patience(5, /*yield=*/false, clock);
  EXPECT_EQ(LooksUntilBlocked(patience), 5);
  EXPECT_EQ(LooksUntilBlocked(patience), 0);
  for (int wait = 0; wait < 31; ++wait) Pay(patience, 1);
  EXPECT_EQ(LooksUntilBlocked(patience), 5);
  for (int wait = 0; wait < 3; ++wait) EXPECT_EQ(LooksUntilBlocked(patience), 0);
  Pay(patience, 1);
}

TEST(Patience, AYieldThatGaveATimeSliceAwayIsTheLastOfItsWait) {
  PassingClock clock(100'000);
  Patience patience(5, /*yield=*/true, clock);
  EXPECT_EQ(LooksUntilBlocked(patience), 5);
  EXPECT_EQ(LooksUntilBlocked(patience), 0);
  clock.set_step_ns(3'000'000);
  EXPECT_EQ(LooksUntilBlocked(patience), 1);
  for (int wait = 0; wait < 3; ++wait) EXPECT_EQ(LooksUntilBlocked(patience), 0);
}

TEST(Patience, WhatIsFoundAtOnceIsNoWait) {
  const SystemClock clock;
  Patience patience(5, /*yield=*/false, clock);
  EXPECT_EQ(LooksUntilBlocked(patience), 5);
  for (int look = 0; look < 100; ++look) patience.Found();
  EXPECT_EQ(LooksUntilBlocked(patience), 0);
}

}  // namespace
}  // namespace crossover::allreduce
