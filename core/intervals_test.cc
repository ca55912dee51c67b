#include "core/intervals.h"

#include <random>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<std::pair<int64_t, int64_t>> Pairs(const std::vector<Interval>& intervals) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const Interval& interval : intervals) pairs.push_back({interval.start_ns, interval.end_ns});
  return pairs;
}

std::vector<Interval> U(std::vector<Interval> intervals) { return Union(intervals); }

TEST(IntervalsTest, UnionSortsAndMerges) {
  EXPECT_THAT(Pairs(U({{8, 9}, {1, 3}, {2, 5}, {5, 6}, {2, 4}})),
              ElementsAre(Pair(1, 6), Pair(8, 9)));
  EXPECT_THAT(Pairs(U({{0, 10}, {2, 3}})), ElementsAre(Pair(0, 10)));
  EXPECT_THAT(Pairs(U({{3, 3}, {5, 4}})), IsEmpty());
  EXPECT_THAT(Pairs(U({})), IsEmpty());
}

TEST(IntervalsTest, IntersectionKeepsWhatBothCover) {
  const auto a = U({{0, 4}, {6, 10}});
  const auto b = U({{2, 7}, {9, 12}});
  EXPECT_THAT(Pairs(Intersection(a, b)), ElementsAre(Pair(2, 4), Pair(6, 7), Pair(9, 10)));
  EXPECT_THAT(Pairs(Intersection(b, a)), ElementsAre(Pair(2, 4), Pair(6, 7), Pair(9, 10)));
  EXPECT_THAT(Pairs(Intersection(a, U({{4, 6}}))), IsEmpty());  // they only touch
  EXPECT_THAT(Pairs(Intersection(a, {})), IsEmpty());
}

TEST(IntervalsTest, ClipKeepsWhatLiesInside) {
  const auto u = U({{0, 4}, {6, 10}});
  EXPECT_THAT(Pairs(Clip(u, 3, 8)), ElementsAre(Pair(3, 4), Pair(6, 8)));
  EXPECT_THAT(Pairs(Clip(u, 4, 6)), IsEmpty());
  EXPECT_THAT(Pairs(Clip(u, 8, 3)), IsEmpty());
  EXPECT_EQ(Pairs(Clip(u, -1, 99)), Pairs(u));
}

TEST(IntervalsTest, LengthIsTheSum) {
  EXPECT_EQ(LengthNs(U({{0, 4}, {6, 10}})), 8);
  EXPECT_EQ(LengthNs({}), 0);
}

TEST(IntervalsTest, EqualsCountingPointByPoint) {
  constexpr int kPoints = 60;
  std::mt19937 generator(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> intervals[2];
    bool covered[2][kPoints] = {};
    for (int side = 0; side < 2; ++side) {
      for (int i = static_cast<int>(generator() % 8); i > 0; --i) {
        const int64_t start = generator() % kPoints;
        const int64_t end = std::min<int64_t>(kPoints, start + generator() % 12);
        intervals[side].push_back({start, end});
        for (int64_t point = start; point < end; ++point) covered[side][point] = true;
      }
    }
    int either = 0;
    int both = 0;
    int clipped = 0;
    for (int point = 0; point < kPoints; ++point) {
      const bool a = covered[0][point];
      either += a;
      both += a && covered[1][point];
      clipped += a && point >= 20 && point < 40;
    }
    const auto a = Union(intervals[0]);
    EXPECT_EQ(LengthNs(a), either) << "round " << round;
    EXPECT_EQ(LengthNs(Intersection(a, Union(intervals[1]))), both) << "round " << round;
    EXPECT_EQ(LengthNs(Clip(a, 20, 40)), clipped) << "round " << round;
  }
}

}  // namespace
}  // namespace crossover
