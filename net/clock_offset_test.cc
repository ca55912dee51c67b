#include "net/clock_offset.h"

#include <limits>

#include "gtest/gtest.h"

namespace crossover::net {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

TEST(ClockOffsetTest, ZeroBeforeTheFirstExchange) {
  EXPECT_EQ(ClockOffsetEstimator().Best().offset_ns, 0);
  EXPECT_EQ(ClockOffsetEstimator().Best().error_ns, 0);
}

TEST(ClockOffsetTest, TakesTheMiddle) {
  ClockOffsetEstimator estimator;
  estimator.Add(/*send_ns=*/100, /*receive_ns=*/300, /*remote_ns=*/5200);
  EXPECT_EQ(estimator.Best().offset_ns, 5000);
  EXPECT_EQ(estimator.Best().error_ns, 100);
}

TEST(ClockOffsetTest, NegativeOffsetAndOddRoundTrip) {
  ClockOffsetEstimator estimator;
  estimator.Add(1000, 1003, 0);
  EXPECT_EQ(estimator.Best().offset_ns, -1001);
  EXPECT_EQ(estimator.Best().error_ns, 2);
}

TEST(ClockOffsetTest, ShortestRoundTripWins) {
  ClockOffsetEstimator estimator;
  estimator.Add(0, 200, 1100 + 50);  // an uneven path: 50 off, within its 100
  estimator.Add(1000, 1020, 1010 + 1000);
  estimator.Add(2000, 2400, 2200 + 1000 + 150);
  EXPECT_EQ(estimator.Best().offset_ns, 1000);
  EXPECT_EQ(estimator.Best().error_ns, 10);
}

TEST(ClockOffsetTest, ForgetsAfterAMinute) {
  ClockOffsetEstimator estimator;
  estimator.Add(0, 10, 5);  // offset 0, error 5
  estimator.Add(30 * kSecondNs, 30 * kSecondNs + 100, 30 * kSecondNs + 50 + 7);  // offset 7
  estimator.Add(59 * kSecondNs, 59 * kSecondNs + 400, 59 * kSecondNs + 200 + 9);
  EXPECT_EQ(estimator.Best().error_ns, 5);
  estimator.Add(61 * kSecondNs, 61 * kSecondNs + 400, 61 * kSecondNs + 200 + 9);
  EXPECT_EQ(estimator.Best().offset_ns, 7);
  EXPECT_EQ(estimator.Best().error_ns, 50);
  estimator.Add(1000 * kSecondNs, 1000 * kSecondNs + 800, 1000 * kSecondNs + 400 + 11);
  EXPECT_EQ(estimator.Best().offset_ns, 11);
  EXPECT_EQ(estimator.Best().error_ns, 400);
}

TEST(ClockOffsetTest, IgnoresAReplyFromTheFuture) {
  ClockOffsetEstimator estimator;
  estimator.Add(100, 50, 0);
  EXPECT_EQ(estimator.Best().error_ns, 0);
  EXPECT_EQ(estimator.Best().offset_ns, 0);
}

TEST(ClockOffsetTest, IgnoresTimesThatNoClockShows) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  ClockOffsetEstimator estimator;
  for (const int64_t time_ns : {kMin, int64_t{-1}, ClockOffsetEstimator::kTimeNsMax + 1, kMax}) {
    estimator.Add(time_ns, 100, 50);
    estimator.Add(0, 100, time_ns);
    estimator.Add(0, time_ns, 50);
  }
  EXPECT_EQ(estimator.Best().error_ns, 0);
  estimator.Add(0, 100, ClockOffsetEstimator::kTimeNsMax);
  EXPECT_EQ(estimator.Best().offset_ns, ClockOffsetEstimator::kTimeNsMax - 50);
}

}  // namespace
}  // namespace crossover::net
