// Whatever goes wrong on one rank ends every rank with an error that names the
// cause, and none waits for its deadline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "allreduce/collective.h"
#include "allreduce/test_support.h"
#include "core/clock.h"
#include "net/faulty_endpoint.h"
#include "net/inproc_endpoint.h"
#include "net/tcp_test_support.h"

namespace crossover::allreduce {
namespace {

using testing::HasSubstr;

// Nobody gets there: a status of DEADLINE_EXCEEDED is a hang.
constexpr double kSilenceS = 60;
constexpr int kWorldSize = 3;
constexpr int64_t kChunkBytes = 64;

class CollectiveFaultTest : public testing::TestWithParam<std::tuple<Algorithm, bool>> {
 protected:
  Algorithm algorithm() const { return std::get<0>(GetParam()); }
  Endpoints Connect(int world_size = kWorldSize) {
    return std::get<1>(GetParam()) ? net::MakeTcpEndpoints(world_size, kSilenceS, clock_)
                                   : net::MakeInprocEndpoints(world_size, kSilenceS, clock_);
  }

  void ExpectAllFail(const std::vector<absl::Status>& statuses, const std::string& cause) {
    for (const absl::Status& status : statuses) {
      EXPECT_FALSE(status.ok());
      EXPECT_NE(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(cause));
    }
  }

  // A Broadcast, then an AllReduce, both in several chunks.
  static absl::Status Work(Collective& collective, std::vector<float> values) {
    const absl::Status status = collective.Broadcast(values);
    return status.ok() ? collective.AllReduceSum(values) : status;
  }

  SystemClock clock_;
};

TEST_P(CollectiveFaultTest, EveryExchangeThatFailsEndsEveryRank) {
  const Buffers inputs = RandomBuffers(kWorldSize, 100, 1);
  for (int faulty = 0; faulty < kWorldSize; ++faulty) {
    int64_t fail_at = 0;
    for (;; ++fail_at) {
      SCOPED_TRACE(testing::Message() << "rank " << faulty << " fails exchange " << fail_at);
      bool no_fault = false;
      Endpoints endpoints = Connect();
      const auto statuses = RunRanks(endpoints, [&](net::Endpoint& inner) {
        net::FaultPlan plan;
        plan.failure = absl::InternalError("the cable was cut");
        if (inner.rank() == faulty) plan.fail_at = fail_at;
        net::FaultyEndpoint endpoint(inner, plan, clock_);
        Collective collective(endpoint, algorithm(), kChunkBytes);
        const absl::Status status = Work(collective, inputs[inner.rank()]);
        if (!status.ok()) return status;
        if (inner.rank() == faulty) no_fault = true;
        // In its last exchange the faulty rank may owe nothing to some; they learn of
        // the fault in the next collective.
        std::vector<float> values(1);
        return collective.Broadcast(values);
      });
      if (no_fault) break;  // all of the faulty rank's exchanges have had their turn
      ExpectAllFail(statuses, "the cable was cut");
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(fail_at, 4) << "too few exchanges to prove anything";
  }
}

TEST_P(CollectiveFaultTest, AnotherLengthOnOneRankEndsAll) {
  for (const int64_t other_length : {99, 101, 0, 1000}) {
    for (int odd = 0; odd < kWorldSize; ++odd) {
      SCOPED_TRACE(testing::Message() << "rank " << odd << " has " << other_length);
      Endpoints endpoints = Connect();
      const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
        std::vector<float> values(endpoint.rank() == odd ? other_length : 100);
        return Collective(endpoint, algorithm(), kChunkBytes).AllReduceSum(values);
      });
      ExpectAllFail(statuses, "expected");
      ExpectAllFail(statuses, "(of 400)");
      ExpectAllFail(statuses, "(of " + std::to_string(4 * other_length) + ")");
    }
  }
}

TEST_P(CollectiveFaultTest, AnotherLengthOfABroadcastEndsAll) {
  for (const int64_t other_length : {99, 0}) {
    for (int odd = 0; odd < kWorldSize; ++odd) {
      SCOPED_TRACE(testing::Message() << "rank " << odd << " has " << other_length);
      Endpoints endpoints = Connect();
      const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
        std::vector<float> values(endpoint.rank() == odd ? other_length : 100);
        return Collective(endpoint, algorithm(), kChunkBytes).Broadcast(values);
      });
      ExpectAllFail(statuses, "expected");
    }
  }
}

TEST_P(CollectiveFaultTest, AnotherKindOnOneRankEndsAll) {
  for (const int64_t length : {0, 100}) {
    for (int odd = 0; odd < kWorldSize; ++odd) {
      SCOPED_TRACE(testing::Message() << "rank " << odd << ", length " << length);
      Endpoints endpoints = Connect();
      const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
        std::vector<float> values(length);
        Collective collective(endpoint, algorithm(), kChunkBytes);
        return endpoint.rank() == odd ? collective.Broadcast(values)
                                      : collective.AllReduceSum(values);
      });
      ExpectAllFail(statuses, "expected");
    }
  }
}

TEST_P(CollectiveFaultTest, AnotherAlgorithmOnOneRankEndsAll) {
  const Algorithm other = algorithm() == Algorithm::kRing ? Algorithm::kDirect : Algorithm::kRing;
  Endpoints endpoints = Connect();
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    std::vector<float> values(100);
    return Collective(endpoint, endpoint.rank() == 1 ? other : algorithm(), kChunkBytes)
        .AllReduceSum(values);
  });
  ExpectAllFail(statuses, "expected");
}

TEST_P(CollectiveFaultTest, ARankThatCountsOtherwiseEndsAll) {
  Endpoints endpoints = Connect();
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    std::vector<float> values(100);
    Collective collective(endpoint, algorithm(), kChunkBytes);
    const absl::Status first = collective.AllReduceSum(values);
    if (!first.ok()) return first;
    Collective afresh(endpoint, algorithm(), kChunkBytes);
    return endpoint.rank() == 1 ? afresh.AllReduceSum(values) : collective.AllReduceSum(values);
  });
  ExpectAllFail(statuses, "sequence 0");
  ExpectAllFail(statuses, "sequence 1");
}

TEST_P(CollectiveFaultTest, ARankThatVanishesIsNamed) {
  for (int lost = 0; lost < kWorldSize; ++lost) {
    SCOPED_TRACE(lost);
    Endpoints endpoints = Connect();
    const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
      std::vector<float> values(100);
      Collective collective(endpoint, algorithm(), kChunkBytes);
      if (endpoint.rank() != lost) return Work(collective, values);
      // Takes part in the Broadcast and is gone: its endpoint closes without a word.
      const absl::Status first = collective.Broadcast(values);
      EXPECT_TRUE(first.ok()) << first;
      return absl::CancelledError("gone");
    });
    for (int rank = 0; rank < kWorldSize; ++rank) {
      if (rank == lost) continue;
      EXPECT_NE(statuses[rank].code(), absl::StatusCode::kDeadlineExceeded) << statuses[rank];
      EXPECT_THAT(std::string(statuses[rank].message()), HasSubstr("rank " + std::to_string(lost)));
      EXPECT_THAT(std::string(statuses[rank].message()), HasSubstr("closed the connection"));
    }
  }
}

TEST_P(CollectiveFaultTest, AnAbortFromAnotherThreadWakesTheRankAndItsPeers) {
  Endpoints endpoints = Connect();
  net::Endpoint& aborted = *endpoints[1];
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    std::vector<float> values(100);
    // Rank 2 is what the others wait for until then.
    if (endpoint.rank() == 2) aborted.Abort(absl::CancelledError("the run was aborted"));
    return Collective(endpoint, algorithm(), kChunkBytes).AllReduceSum(values);
  });
  ExpectAllFail(statuses, "the run was aborted");
}

TEST_P(CollectiveFaultTest, ALateRankIsWaitedFor) {
  const Buffers inputs = RandomBuffers(kWorldSize, 100, 1);
  const Buffers expected = ReplayAllReduce(algorithm(), inputs);
  Buffers buffers = inputs;
  Endpoints endpoints = Connect();
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& inner) {
    net::FaultPlan plan;
    plan.delay_at = inner.rank();
    plan.delay_ns = 20'000'000;
    net::FaultyEndpoint endpoint(inner, plan, clock_);
    return Collective(endpoint, algorithm(), kChunkBytes).AllReduceSum(buffers[inner.rank()]);
  });
  for (int rank = 0; rank < kWorldSize; ++rank) {
    EXPECT_TRUE(statuses[rank].ok()) << statuses[rank];
    EXPECT_TRUE(SameBits(buffers[rank], expected[rank]));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Everywhere, CollectiveFaultTest,
    testing::Combine(testing::Values(Algorithm::kRing, Algorithm::kDirect), testing::Bool()),
    [](const auto& info) {
      return std::string(std::get<0>(info.param) == Algorithm::kRing ? "Ring" : "Direct") +
             (std::get<1>(info.param) ? "Tcp" : "Inproc");
    });

}  // namespace
}  // namespace crossover::allreduce
