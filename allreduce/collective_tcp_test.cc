// The collectives over real sockets: what kernels do to messages (cut them, join
// them, stop taking them) must not show.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "allreduce/collective.h"
#include "allreduce/test_support.h"
#include "core/clock.h"
#include "net/tcp_test_support.h"

namespace crossover::allreduce {
namespace {

constexpr double kSilenceS = 60;

class CollectiveTcpTest : public testing::TestWithParam<std::tuple<Algorithm, int>> {};

TEST_P(CollectiveTcpTest, EqualsTheSerialReplayBitForBit) {
  const auto [algorithm, world_size] = GetParam();
  SystemClock clock;
  Endpoints endpoints = net::MakeTcpEndpoints(world_size, kSilenceS, clock);
  const std::vector<int64_t> lengths = {0, 1, 3, world_size, 1000, 100'003};
  std::vector<Buffers> inputs;
  std::vector<Buffers> expected;
  for (const int64_t length : lengths) {
    inputs.push_back(RandomBuffers(world_size, length, 1));
    expected.push_back(ReplayAllReduce(algorithm, inputs.back()));
  }
  // All on the same connections, one after the other.
  std::vector<Buffers> outputs = inputs;
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    Collective collective(endpoint, algorithm, 1 << 18);
    for (Buffers& buffers : outputs) {
      const absl::Status status = collective.AllReduceSum(buffers[endpoint.rank()]);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  });
  for (int rank = 0; rank < world_size; ++rank) {
    EXPECT_TRUE(statuses[rank].ok()) << statuses[rank];
    for (size_t i = 0; i < lengths.size(); ++i) {
      EXPECT_TRUE(SameBits(outputs[i][rank], expected[i][rank]))
          << "rank " << rank << ", length " << lengths[i];
    }
  }
}

TEST_P(CollectiveTcpTest, BroadcastReachesEveryRank) {
  const auto [algorithm, world_size] = GetParam();
  SystemClock clock;
  Endpoints endpoints = net::MakeTcpEndpoints(world_size, kSilenceS, clock);
  Buffers buffers = RandomBuffers(world_size, 100'003, 2);
  const std::vector<float> expected = buffers[0];
  const auto statuses = RunRanks(endpoints, [&, chosen = algorithm](net::Endpoint& endpoint) {
    return Collective(endpoint, chosen, 1 << 16).Broadcast(buffers[endpoint.rank()]);
  });
  for (int rank = 0; rank < world_size; ++rank) {
    EXPECT_TRUE(statuses[rank].ok()) << statuses[rank];
    EXPECT_TRUE(SameBits(buffers[rank], expected)) << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, CollectiveTcpTest,
                         testing::Combine(testing::Values(Algorithm::kRing, Algorithm::kDirect),
                                          testing::Values(1, 2, 3, 4)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) == Algorithm::kRing
                                                  ? "Ring"
                                                  : "Direct") +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace crossover::allreduce
