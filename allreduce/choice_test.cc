#include "allreduce/choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "allreduce/schedule_cases.h"

namespace crossover::allreduce {
namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kKiB = 1 << 10;

Place World(int world_size, std::vector<int> host_of = {}) {
  return {.rank = 0, .world_size = world_size, .root = 0, .host_of = std::move(host_of)};
}

// 1 Gbit/s with half a millisecond.
CostFit SlowLink() {
  return {.alpha_us = 500, .message_us = 5, .beta_us_per_byte = 8e-3, .gamma_us_per_byte = 1e-4};
}

// A schedule's own figures, of the rank that needs most.
Cost Counted(const ScheduleCase& c) {
  Cost most;
  for (const Schedule& schedule : SchedulesOf(c)) {
    const Traffic traffic = CountOf(schedule);
    most.steps = static_cast<double>(traffic.steps);
    most.bytes = std::max(
        {most.bytes, static_cast<double>(traffic.sent), static_cast<double>(traffic.received)});
    double messages = 0;
    double combined = 0;
    for (const Step& step : schedule) {
      const size_t busiest = std::max(step.sends.size(), step.receives.size());
      messages += busiest > 1 ? static_cast<double>(busiest - 1) : 0;
      if (step.action == Action::kReplace) continue;
      for (const Transfer& receive : step.receives) {
        combined += static_cast<double>(receive.segment.length);
      }
    }
    most.messages = std::max(most.messages, messages);
    most.combined_bytes = std::max(most.combined_bytes, combined);
  }
  return most;
}

TEST(CostsTest, AreWhatTheSchedulesNeed) {
  for (const int n : {2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 33}) {
    const int64_t length = 887'040;  // divisible by every number of pieces
    for (const Kind kind : {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather,
                            Kind::kBroadcast, Kind::kBarrier}) {
      for (const Algorithm algorithm : AlgorithmsOf(kind)) {
        if (algorithm == Algorithm::kHierarchical) continue;
        const ScheduleCase c{kind, algorithm, n, 0, {}, length};
        const Cost counted = Counted(c);
        const Costs costs = CostsOf(kind, algorithm, World(n), length);
        EXPECT_DOUBLE_EQ(costs.between_hosts.steps, counted.steps) << Describe(c);
        EXPECT_DOUBLE_EQ(costs.between_hosts.messages, counted.messages) << Describe(c);
        EXPECT_DOUBLE_EQ(costs.between_hosts.bytes, counted.bytes) << Describe(c);
        EXPECT_DOUBLE_EQ(costs.between_hosts.combined_bytes, counted.combined_bytes) << Describe(c);
        EXPECT_EQ(costs.within_host.steps, 0);
      }
    }
  }
}

TEST(CostsTest, HierarchicalIsCountedWithinAndBetweenHosts) {
  const int64_t length = 720;
  const Place place = World(6, {0, 0, 0, 1, 1, 2});
  const Costs costs = CostsOf(Kind::kAllReduce, Algorithm::kHierarchical, place, length);
  // The leader of the first host: from two mates, and back to them.
  EXPECT_DOUBLE_EQ(costs.within_host.steps, 2);
  EXPECT_DOUBLE_EQ(costs.within_host.messages, 2);
  EXPECT_DOUBLE_EQ(costs.within_host.bytes, 2 * 720);
  EXPECT_DOUBLE_EQ(costs.within_host.combined_bytes, 2 * 720);
  EXPECT_DOUBLE_EQ(costs.between_hosts.steps, 4);
  EXPECT_DOUBLE_EQ(costs.between_hosts.bytes, 960);  // 2 (H-1)/H
  const Cost counted =
      Counted({Kind::kAllReduce, Algorithm::kHierarchical, 6, 0, place.host_of, length});
  EXPECT_DOUBLE_EQ(costs.within_host.bytes + costs.between_hosts.bytes, counted.bytes);
  EXPECT_DOUBLE_EQ(costs.within_host.combined_bytes + costs.between_hosts.combined_bytes,
                   counted.combined_bytes);
}

TEST(CostsTest, RanksOfAHostShareItsLink) {
  const auto bytes = [](Algorithm algorithm, std::vector<int> host_of) {
    return CostsOf(Kind::kAllReduce, algorithm, World(4, std::move(host_of)), 100)
        .between_hosts.bytes;
  };
  EXPECT_DOUBLE_EQ(bytes(Algorithm::kRing, {0, 0, 1, 1}), 150);  // one edge leaves each host
  EXPECT_DOUBLE_EQ(bytes(Algorithm::kRing, {0, 1, 0, 1}), 300);
  EXPECT_DOUBLE_EQ(bytes(Algorithm::kRecursiveDoubling, {0, 0, 1, 1}), 400);
  EXPECT_DOUBLE_EQ(bytes(Algorithm::kRing, {5, 5, 5, 5}), 0);
}

TEST(ChooseTest, SmallMessagesTakeFewStepsAndLargeOnesFewBytes) {
  for (const CostFit& fit : {DefaultFitOfTcp(), DefaultFitOfSharedMemory(), SlowLink()}) {
    // With two ranks an exchange is the same.
    EXPECT_EQ(Choose(Kind::kAllReduce, 4, World(2), fit), Algorithm::kRecursiveDoubling);
    EXPECT_EQ(Choose(Kind::kAllReduce, 4, World(3), fit), Algorithm::kExchange);
    for (const int n : {2, 3, 4, 5, 8, 16, 64}) {
      EXPECT_EQ(Choose(Kind::kAllReduce, 1024 * kMiB, World(n), fit), Algorithm::kRing) << n;
    }
  }
  for (const int n : {4, 8, 16, 64}) {
    EXPECT_EQ(Choose(Kind::kAllReduce, 4, World(n), DefaultFitOfTcp()),
              Algorithm::kRecursiveDoubling)
        << n;
  }
  EXPECT_EQ(Choose(Kind::kAllReduce, 4096, World(4), DefaultFitOfTcp()),
            Algorithm::kRecursiveDoubling);
  EXPECT_EQ(Choose(Kind::kAllReduce, 256 * kKiB, World(4), DefaultFitOfTcp()),
            Algorithm::kHalvingDoubling);
  EXPECT_EQ(Choose(Kind::kAllReduce, 16 * kMiB, World(4), DefaultFitOfTcp()), Algorithm::kRing);
}

TEST(ChooseTest, WhereALinkHasADelayOneStepIsTakenWhateverTheRanks) {
  for (const int n : {3, 4, 5, 8, 16, 64}) {
    EXPECT_EQ(Choose(Kind::kAllReduce, 4, World(n), SlowLink()), Algorithm::kExchange) << n;
  }
  EXPECT_EQ(Choose(Kind::kAllReduce, 4 * kKiB, World(4), SlowLink()), Algorithm::kExchange);
  EXPECT_EQ(Choose(Kind::kAllReduce, 256 * kKiB, World(4), SlowLink()),
            Algorithm::kHalvingDoubling);
}

TEST(ChooseTest, TheOtherCollectives) {
  const CostFit fit = DefaultFitOfTcp();
  for (const Kind kind : {Kind::kReduceScatter, Kind::kAllGather}) {
    EXPECT_EQ(Choose(kind, 64, World(8), fit), Algorithm::kDirect);
    EXPECT_EQ(Choose(kind, 64 * kMiB, World(8), fit), Algorithm::kRing);
  }
  EXPECT_EQ(Choose(Kind::kBroadcast, 64, World(8), fit), Algorithm::kTree);
  EXPECT_EQ(Choose(Kind::kBroadcast, 64 * kMiB, World(8), fit), Algorithm::kChain);
  EXPECT_EQ(Choose(Kind::kBarrier, 0, World(8), fit), Algorithm::kDissemination);
}

TEST(ChooseTest, SeveralRanksOnSeveralHostsGoByHosts) {
  const Place pairs = World(8, {0, 0, 1, 1, 2, 2, 3, 3});
  const Place dealt = World(8, {0, 1, 2, 3, 0, 1, 2, 3});
  for (const Place& place : {pairs, dealt}) {
    EXPECT_EQ(Choose(Kind::kAllReduce, 64 * kMiB, place, SlowLink(), DefaultFitOfSharedMemory()),
              Algorithm::kHierarchical);
  }
  // One host, or one rank on each, has no hierarchy.
  EXPECT_NE(Choose(Kind::kAllReduce, 64 * kMiB, World(4, {1, 1, 1, 1}), SlowLink()),
            Algorithm::kHierarchical);
  EXPECT_NE(Choose(Kind::kAllReduce, 64 * kMiB, World(4, {0, 1, 2, 3}), SlowLink()),
            Algorithm::kHierarchical);
}

TEST(ChooseTest, EveryRankChoosesTheSame) {
  for (int64_t bytes = 1; bytes < 1024 * kMiB; bytes = bytes * 3 + 1) {
    const Algorithm first = Choose(Kind::kAllReduce, bytes, World(6), DefaultFitOfTcp());
    for (int rank = 1; rank < 6; ++rank) {
      Place place = World(6);
      place.rank = rank;
      EXPECT_EQ(Choose(Kind::kAllReduce, bytes, place, DefaultFitOfTcp()), first);
    }
  }
}

// The model itself: no other algorithm is predicted to be more than 2% faster.
TEST(ChooseTest, NothingElseIsPredictedMuchFaster) {
  const CostFit fit = DefaultFitOfTcp();
  for (const int n : {2, 3, 4, 6, 8, 31, 32}) {
    for (int64_t bytes = 1; bytes < 1024 * kMiB; bytes = bytes * 3 + 1) {
      const auto time_us = [&](Algorithm algorithm) {
        return TimeUs(CostsOf(Kind::kAllReduce, algorithm, World(n), bytes), fit, fit);
      };
      const double chosen_us = time_us(Choose(Kind::kAllReduce, bytes, World(n), fit));
      for (const Algorithm other :
           {Algorithm::kRing, Algorithm::kHalvingDoubling, Algorithm::kRecursiveDoubling,
            Algorithm::kTree, Algorithm::kExchange}) {
        EXPECT_LE(chosen_us, 1.02 * time_us(other)) << n << " ranks, " << bytes << " bytes";
      }
    }
  }
}

TEST(ChooseTest, AWorldOfOneAndEmptyBuffersHaveAChoiceToo) {
  EXPECT_EQ(Choose(Kind::kAllReduce, 100, World(1), DefaultFitOfTcp()), Algorithm::kRing);
  EXPECT_EQ(Choose(Kind::kAllReduce, 0, World(4), DefaultFitOfTcp()),
            Algorithm::kRecursiveDoubling);
  EXPECT_EQ(Choose(Kind::kAllReduce, 0, World(4), CostFit{}), Algorithm::kRing);
}

}  // namespace
}  // namespace crossover::allreduce
