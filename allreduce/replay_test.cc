#include "allreduce/replay.h"

#include <gtest/gtest.h>

#include <vector>

#include "allreduce/schedule.h"

namespace crossover::allreduce {
namespace {

// 1, 2^24 and -2^24 in fp32: (1 + 2^24) - 2^24 = 0, but 1 + (2^24 - 2^24) = 1.
constexpr float kBig = 16777216;

template <typename MakeSchedule>
std::vector<Schedule> All(MakeSchedule make, int world_size, int64_t length) {
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < world_size; ++rank) schedules.push_back(make(rank, world_size, length));
  return schedules;
}

TEST(ReplayTest, OneRankKeepsItsValues) {
  EXPECT_EQ(Replay({Schedule{}}, {{1, 2, 3}}), (std::vector<std::vector<float>>{{1, 2, 3}}));
}

TEST(ReplayTest, SmallSumsByHand) {
  const std::vector<std::vector<float>> inputs = {{1, 2, 3}, {10, 20, 30}};
  const std::vector<std::vector<float>> expected = {{11, 22, 33}, {11, 22, 33}};
  EXPECT_EQ(Replay(All(RingSchedule, 2, 3), inputs), expected);
  EXPECT_EQ(Replay(All(DirectSchedule, 2, 3), inputs), expected);
}

TEST(ReplayTest, DirectAddsInRankOrderForEveryOwner) {
  const std::vector<std::vector<float>> inputs = {
      {1, 1, 1}, {kBig, kBig, kBig}, {-kBig, -kBig, -kBig}};
  for (const std::vector<float>& output : Replay(All(DirectSchedule, 3, 3), inputs)) {
    EXPECT_EQ(output, (std::vector<float>{0, 0, 0}));
  }
}

TEST(ReplayTest, RingAddsEachSegmentInTheRingsOrder) {
  const std::vector<std::vector<float>> inputs = {
      {1, 1, 1}, {kBig, kBig, kBig}, {-kBig, -kBig, -kBig}};
  // Segment 0: 0,1,2. Segment 1: 1,2,0. Segment 2: 2,0,1, where -2^24 + 1 is exact.
  for (const std::vector<float>& output : Replay(All(RingSchedule, 3, 3), inputs)) {
    EXPECT_EQ(output, (std::vector<float>{0, 1, 1}));
  }
}

TEST(ReplayDeathTest, AReceiveWithoutItsSendIsABug) {
  Step step;
  step.receives.push_back({1, {0, 1}});
  EXPECT_DEATH(Replay({{step}, {Step{}}}, {{1}, {2}}), "what is received has been sent");
}

}  // namespace
}  // namespace crossover::allreduce
