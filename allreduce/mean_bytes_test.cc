// What ranks send by their schedules is on average what core says that they should: the ledger of
// a run is held against it.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "allreduce/algorithms.h"
#include "allreduce/two_level.h"
#include "core/strategy_traits.h"

namespace crossover::allreduce {
namespace {

constexpr int64_t kLength = 1003;  // values; even pieces for no number of ranks

double MeanBytes(int ranks, const std::vector<int>& host_of,
                 const std::function<Schedule(const Place&)>& make) {
  int64_t sent = 0, received = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    for (const Step& step :
         make({.rank = rank, .world_size = ranks, .root = 0, .host_of = host_of})) {
      for (const Transfer& send : step.sends) sent += send.segment.length;
      for (const Transfer& receive : step.receives) received += receive.segment.length;
    }
  }
  EXPECT_EQ(sent, received);
  return 4. * static_cast<double>(sent) / ranks;
}
double MeanBytes(Algorithm algorithm, int ranks, const std::vector<int>& host_of) {
  return MeanBytes(ranks, host_of, [&](const Place& place) {
    return MakeSchedule(Kind::kAllReduce, algorithm, place, kLength);
  });
}

proto::AllReduce::Algorithm InJob(Algorithm algorithm) {
  proto::AllReduce::Algorithm value{};
  EXPECT_TRUE(proto::AllReduce::Algorithm_Parse(NameOf(algorithm), &value)) << NameOf(algorithm);
  return value;
}

TEST(MeanBytes, AreCoresFormulaForEveryAlgorithm) {
  for (const Algorithm algorithm : AlgorithmsOf(Kind::kAllReduce)) {
    for (int ranks = 1; ranks <= 17; ++ranks) {
      const double formula = AllReduceBytes(InJob(algorithm), ranks, 4. * kLength);
      EXPECT_DOUBLE_EQ(MeanBytes(algorithm, ranks, {}), formula)
          << NameOf(algorithm) << " of " << ranks;
    }
  }
}

TEST(MeanBytes, DoNotDependOnWhoSharesAHost) {
  const double formula = AllReduceBytes(proto::AllReduce::hierarchical, 7, 4. * kLength);
  for (const std::vector<int>& host_of :
       {std::vector<int>{0, 0, 0, 1, 1, 1, 1}, {0, 1, 0, 1, 0, 1, 2}, {0, 0, 0, 0, 0, 0, 0}}) {
    EXPECT_DOUBLE_EQ(MeanBytes(Algorithm::kHierarchical, 7, host_of), formula);
  }
}

TEST(MeanBytes, ThroughMemoryWithinHostsAreThoseOfTheRingBetweenThem) {
  const auto between = [](const Place& place) { return BetweenHosts(place, kLength); };
  EXPECT_DOUBLE_EQ(MeanBytes(7, {0, 0, 0, 1, 1, 1, 1}, between),
                   AllReduceBytesBetweenHosts(2, 7, 4. * kLength));
  EXPECT_DOUBLE_EQ(MeanBytes(7, {0, 1, 0, 1, 0, 1, 2}, between),
                   AllReduceBytesBetweenHosts(3, 7, 4. * kLength));
  EXPECT_DOUBLE_EQ(MeanBytes(4, {0, 1, 1, 0}, between),
                   AllReduceBytesBetweenHosts(2, 4, 4. * kLength));
}

}  // namespace
}  // namespace crossover::allreduce
