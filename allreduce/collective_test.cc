#include "allreduce/collective.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "allreduce/test_support.h"
#include "core/clock.h"
#include "net/inproc_endpoint.h"

namespace crossover::allreduce {
namespace {

// Far beyond what a healthy run takes: a test that waits so long has hung.
constexpr double kSilenceS = 60;
constexpr int64_t kChunkBytes = 4096;

std::string Name(Algorithm algorithm) { return algorithm == Algorithm::kRing ? "Ring" : "Direct"; }

class AllReduceTest : public testing::TestWithParam<std::tuple<Algorithm, int>> {
 protected:
  Algorithm algorithm() const { return std::get<0>(GetParam()); }
  int world_size() const { return std::get<1>(GetParam()); }

  SystemClock clock_;
};

TEST_P(AllReduceTest, EqualsTheSerialReplayBitForBitOnEveryRank) {
  for (const int64_t length : {0, 1, 3, world_size(), 1000, 100003}) {
    SCOPED_TRACE(length);
    const Buffers inputs = RandomBuffers(world_size(), length, 1);
    const Buffers expected = ReplayAllReduce(algorithm(), inputs);
    Buffers buffers = inputs;
    Endpoints endpoints = net::MakeInprocEndpoints(world_size(), kSilenceS, clock_);
    const std::vector<absl::Status> statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
      Collective collective(endpoint, algorithm(), kChunkBytes);
      return collective.AllReduceSum(buffers[endpoint.rank()]);
    });
    for (int rank = 0; rank < world_size(); ++rank) {
      ASSERT_TRUE(statuses[rank].ok()) << statuses[rank];
      EXPECT_TRUE(SameBits(buffers[rank], expected[rank])) << "rank " << rank;
      EXPECT_TRUE(SameBits(buffers[rank], buffers[0])) << "rank " << rank;
    }
  }
}

TEST_P(AllReduceTest, SeveralInARowDoNotMixAndTheChunkSizeIsOfNoConsequence) {
  const int64_t length = 1003;
  const Buffers inputs = RandomBuffers(world_size(), length, 2);
  const Buffers expected = ReplayAllReduce(algorithm(), ReplayAllReduce(algorithm(), inputs));
  for (const int64_t chunk_bytes : {4, 400, 1 << 20}) {
    Buffers buffers = inputs;
    Endpoints endpoints = net::MakeInprocEndpoints(world_size(), kSilenceS, clock_);
    const std::vector<absl::Status> statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
      Collective collective(endpoint, algorithm(), chunk_bytes);
      const absl::Status first = collective.AllReduceSum(buffers[endpoint.rank()]);
      if (!first.ok()) return first;
      return collective.AllReduceSum(buffers[endpoint.rank()]);
    });
    for (int rank = 0; rank < world_size(); ++rank) {
      ASSERT_TRUE(statuses[rank].ok()) << statuses[rank];
      EXPECT_TRUE(SameBits(buffers[rank], expected[rank])) << "chunks of " << chunk_bytes;
    }
  }
}

TEST_P(AllReduceTest, TheLedgerHoldsTheClosedFormsBytes) {
  const int64_t length = 60 * world_size();
  Buffers buffers = RandomBuffers(world_size(), length, 3);
  std::vector<CollectiveCounters> counters(world_size());
  Endpoints endpoints = net::MakeInprocEndpoints(world_size(), kSilenceS, clock_);
  RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    Collective collective(endpoint, algorithm(), 100);
    const absl::Status status = collective.AllReduceSum(buffers[endpoint.rank()]);
    counters[endpoint.rank()] = collective.counters();
    return status;
  });
  for (const CollectiveCounters& counted : counters) {
    EXPECT_EQ(counted.sent_bytes, 2 * (world_size() - 1) * 60 * 4);
    EXPECT_EQ(counted.received_bytes, 2 * (world_size() - 1) * 60 * 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, AllReduceTest,
                         testing::Combine(testing::Values(Algorithm::kRing, Algorithm::kDirect),
                                          testing::Values(1, 2, 3, 4, 5, 6)),
                         [](const auto& info) {
                           return Name(std::get<0>(info.param)) +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST(DirectTest, EqualsTheSumInRankOrderBitForBit) {
  SystemClock clock;
  const Buffers inputs = RandomBuffers(4, 5000, 4);
  std::vector<float> expected = inputs[0];
  for (int rank = 1; rank < 4; ++rank) {
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += inputs[rank][i];
  }
  Buffers buffers = inputs;
  Endpoints endpoints = net::MakeInprocEndpoints(4, kSilenceS, clock);
  RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    return Collective(endpoint, Algorithm::kDirect, 1024).AllReduceSum(buffers[endpoint.rank()]);
  });
  for (const std::vector<float>& buffer : buffers) EXPECT_TRUE(SameBits(buffer, expected));
  EXPECT_FALSE(SameBits(ReplayAllReduce(Algorithm::kRing, inputs)[0], expected))
      << "the inputs do not tell one order of addition from another";
}

TEST(DirectTest, ANegativeZeroOfAllRanksStays) {
  SystemClock clock;
  Buffers buffers(3, std::vector<float>(5, -0.0f));
  Endpoints endpoints = net::MakeInprocEndpoints(3, kSilenceS, clock);
  RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    return Collective(endpoint, Algorithm::kDirect, 1024).AllReduceSum(buffers[endpoint.rank()]);
  });
  for (const std::vector<float>& buffer : buffers) {
    EXPECT_TRUE(SameBits(buffer, std::vector<float>(5, -0.0f)));
  }
}

class BroadcastTest : public testing::TestWithParam<int> {};

TEST_P(BroadcastTest, RankZerosValuesBecomeEveryonesForTheStatedBytes) {
  const int world_size = GetParam();
  SystemClock clock;
  for (const int64_t length : {0, 1, 1024, 1025, 10007}) {
    SCOPED_TRACE(length);
    Buffers buffers = RandomBuffers(world_size, length, 5);
    const std::vector<float> expected = buffers[0];
    std::vector<CollectiveCounters> counters(world_size);
    Endpoints endpoints = net::MakeInprocEndpoints(world_size, kSilenceS, clock);
    const std::vector<absl::Status> statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
      Collective collective(endpoint, Algorithm::kRing, kChunkBytes);
      const absl::Status status = collective.Broadcast(buffers[endpoint.rank()]);
      counters[endpoint.rank()] = collective.counters();
      return status;
    });
    for (int rank = 0; rank < world_size; ++rank) {
      ASSERT_TRUE(statuses[rank].ok()) << statuses[rank];
      EXPECT_TRUE(SameBits(buffers[rank], expected)) << "rank " << rank;
      EXPECT_EQ(counters[rank].sent_bytes, rank == world_size - 1 ? 0 : 4 * length);
      EXPECT_EQ(counters[rank].received_bytes, rank == 0 ? 0 : 4 * length);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, BroadcastTest, testing::Values(1, 2, 3, 6));

TEST(CollectiveDeathTest, AChunkHoldsWholeValues) {
  SystemClock clock;
  const Endpoints endpoints = net::MakeInprocEndpoints(1, kSilenceS, clock);
  EXPECT_DEATH(Collective(*endpoints[0], Algorithm::kRing, 0), "a chunk holds whole values");
  EXPECT_DEATH(Collective(*endpoints[0], Algorithm::kRing, 6), "a chunk holds whole values");
}

}  // namespace
}  // namespace crossover::allreduce
