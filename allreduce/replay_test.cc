#include "allreduce/replay.h"

#include <gtest/gtest.h>

#include <vector>

#include "allreduce/algorithms.h"
#include "allreduce/schedule_cases.h"

namespace crossover::allreduce {
namespace {

using Values = std::vector<std::vector<float>>;

// 1, 2^24 and -2^24 in fp32: (1 + 2^24) - 2^24 = 0, but 1 + (2^24 - 2^24) = 1.
constexpr float kBig = 16777216;

std::vector<Schedule> All(Algorithm algorithm, int world_size, int64_t length) {
  return SchedulesOf({Kind::kAllReduce, algorithm, world_size, 0, {}, length});
}

template <typename T>
std::vector<Bytes> BytesOfAll(const std::vector<std::vector<T>>& values) {
  std::vector<Bytes> bytes;
  for (const std::vector<T>& buffer : values) {
    const auto* begin = reinterpret_cast<const std::byte*>(buffer.data());
    bytes.emplace_back(begin, begin + buffer.size() * sizeof(T));
  }
  return bytes;
}

TEST(ReplayTest, OneRankKeepsItsValues) {
  EXPECT_EQ(Replay({Schedule{}}, Values{{1, 2, 3}}), (Values{{1, 2, 3}}));
}

TEST(ReplayTest, SmallSumsByHand) {
  for (const Algorithm algorithm : AlgorithmsOf(Kind::kAllReduce)) {
    EXPECT_EQ(Replay(All(algorithm, 2, 3), Values{{1, 2, 3}, {10, 20, 30}}),
              (Values{{11, 22, 33}, {11, 22, 33}}));
    EXPECT_EQ(Replay(All(algorithm, 3, 1), Values{{1}, {10}, {100}}),
              (Values{{111}, {111}, {111}}));
  }
}

TEST(ReplayTest, AveragesAreDividedOnce) {
  for (const Algorithm algorithm : AlgorithmsOf(Kind::kAllReduce)) {
    const std::vector<Bytes> results =
        Replay(All(algorithm, 3, 2), DataType::kInt32, ReduceOp::kAverage,
               BytesOfAll<int32_t>({{1, -1}, {10, -10}, {101, -100}}));
    EXPECT_EQ(results, BytesOfAll<int32_t>({{37, -37}, {37, -37}, {37, -37}}));
  }
}

TEST(ReplayTest, MinimumAndMaximum) {
  for (const Algorithm algorithm : AlgorithmsOf(Kind::kAllReduce)) {
    const std::vector<Bytes> inputs = BytesOfAll<double>({{1, -1}, {.5, 7}, {3, 4}});
    EXPECT_EQ(Replay(All(algorithm, 3, 2), DataType::kFloat64, ReduceOp::kMin, inputs),
              BytesOfAll<double>({{.5, -1}, {.5, -1}, {.5, -1}}));
    EXPECT_EQ(Replay(All(algorithm, 3, 2), DataType::kFloat64, ReduceOp::kMax, inputs),
              BytesOfAll<double>({{3, 7}, {3, 7}, {3, 7}}));
  }
}

TEST(ReplayTest, DirectAddsInRankOrderForEveryOwner) {
  const Values inputs = {{1, 1, 1}, {kBig, kBig, kBig}, {-kBig, -kBig, -kBig}};
  for (const std::vector<float>& output : Replay(All(Algorithm::kDirect, 3, 3), inputs)) {
    EXPECT_EQ(output, (std::vector<float>{0, 0, 0}));
  }
}

TEST(ReplayTest, RingAddsEachSegmentInTheRingsOrder) {
  const Values inputs = {{1, 1, 1}, {kBig, kBig, kBig}, {-kBig, -kBig, -kBig}};
  // Segment 0: 1,2,0. Segment 1: 2,0,1, where -2^24 + 1 is exact. Segment 2: 0,1,2.
  for (const std::vector<float>& output : Replay(All(Algorithm::kRing, 3, 3), inputs)) {
    EXPECT_EQ(output, (std::vector<float>{1, 1, 0}));
  }
}

TEST(ReplayDeathTest, AReceiveWithoutItsSendIsABug) {
  Step step;
  step.receives.push_back({1, {0, 1}});
  EXPECT_DEATH(Replay({{step}, {Step{}}}, Values{{1}, {2}}), "what is received has been sent");
}

TEST(ReplayDeathTest, ASendWithoutItsReceiveIsABug) {
  Step step;
  step.sends.push_back({1, {0, 1}});
  EXPECT_DEATH(Replay({{step}, {Step{}}}, Values{{1}, {2}}), "what is sent is received");
}

}  // namespace
}  // namespace crossover::allreduce
