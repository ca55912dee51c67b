#include "net/inproc_endpoint.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "core/clock.h"

namespace crossover::net {
namespace {

constexpr double kSilenceS = 60;
const MessageTag kTag{.operation = 3, .sequence = 17, .total_bytes = 4};

using Bytes = std::vector<std::byte>;

absl::Status SendTo(Endpoint& endpoint, int peer, const Bytes& data) {
  const std::array sends = {SendOp{peer, data}};
  return endpoint.Exchange(kTag, sends, {});
}
absl::Status ReceiveFrom(Endpoint& endpoint, int peer, Bytes& into) {
  const std::array receives = {ReceiveOp{peer, into}};
  return endpoint.Exchange(kTag, {}, receives);
}

class InprocEndpointTest : public testing::Test {
 protected:
  SystemClock clock_;
};

TEST_F(InprocEndpointTest, KnowsItsPlace) {
  const auto endpoints = MakeInprocEndpoints(3, kSilenceS, clock_);
  ASSERT_EQ(endpoints.size(), 3u);
  EXPECT_EQ(endpoints[2]->rank(), 2);
  EXPECT_EQ(endpoints[2]->world_size(), 3);
}

TEST_F(InprocEndpointTest, MovesMessagesInOrderPastAFullQueue) {
  const auto endpoints = MakeInprocEndpoints(2, kSilenceS, clock_);
  std::thread sender([&] {
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(SendTo(*endpoints[0], 1, Bytes(i % 3, std::byte(i))).ok());
    }
  });
  for (int i = 0; i < 50; ++i) {
    Bytes into(i % 3);
    const absl::Status status = ReceiveFrom(*endpoints[1], 0, into);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(into, Bytes(i % 3, std::byte(i)));
  }
  sender.join();
}

TEST_F(InprocEndpointTest, BothDirectionsAtOnceDoNotDeadlock) {
  const auto endpoints = MakeInprocEndpoints(2, kSilenceS, clock_);
  const auto work = [&](int rank) {
    for (int i = 0; i < 50; ++i) {
      const Bytes out(4, std::byte(rank));
      Bytes in(4);
      const std::array sends = {SendOp{1 - rank, out}};
      const std::array receives = {ReceiveOp{1 - rank, in}};
      const absl::Status status = endpoints[rank]->Exchange(kTag, sends, receives);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(in, Bytes(4, std::byte(1 - rank)));
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
}

TEST_F(InprocEndpointTest, ADifferenceIsRefusedAndToldToThePeers) {
  const auto endpoints = MakeInprocEndpoints(3, kSilenceS, clock_);
  ASSERT_TRUE(SendTo(*endpoints[1], 0, Bytes(4)).ok());
  Bytes into(8);
  const absl::Status status = ReceiveFrom(*endpoints[0], 1, into);
  EXPECT_EQ(status.message(),
            "rank 1 sent 4 bytes (of 4) of operation 0x3 sequence 17; this rank 0 expected 8 bytes "
            "(of 4) of operation 0x3 sequence 17");
  // For good, for peers, and for those who wait for peers.
  EXPECT_EQ(ReceiveFrom(*endpoints[0], 1, into), status);
  const std::string farewell = "rank 0 gave up: " + std::string(status.message());
  EXPECT_EQ(ReceiveFrom(*endpoints[1], 0, into).message(), farewell);
  EXPECT_EQ(ReceiveFrom(*endpoints[2], 1, into).message(), farewell);
}

TEST_F(InprocEndpointTest, ALostPeerIsNamedAfterItsLastMessage) {
  auto endpoints = MakeInprocEndpoints(2, kSilenceS, clock_);
  ASSERT_TRUE(SendTo(*endpoints[1], 0, Bytes(4)).ok());
  endpoints[1].reset();
  Bytes into(4);
  EXPECT_TRUE(ReceiveFrom(*endpoints[0], 1, into).ok());
  EXPECT_EQ(ReceiveFrom(*endpoints[0], 1, into),
            absl::UnavailableError("rank 1 closed the connection"));
}

TEST_F(InprocEndpointTest, SilenceEndsTheWaitAndNamesThePeer) {
  const auto endpoints = MakeInprocEndpoints(2, 0.05, clock_);
  Bytes into(4);
  EXPECT_EQ(ReceiveFrom(*endpoints[0], 1, into),
            absl::DeadlineExceededError("no bytes to or from rank 1 for 0.05 s"));
}

TEST_F(InprocEndpointTest, AbortWakesAWaitAndStays) {
  const auto endpoints = MakeInprocEndpoints(2, kSilenceS, clock_);
  std::thread other([&] { endpoints[0]->Abort(absl::CancelledError("enough")); });
  Bytes into(4);
  EXPECT_EQ(ReceiveFrom(*endpoints[0], 1, into), absl::CancelledError("enough"));
  other.join();
  endpoints[0]->Abort(absl::CancelledError("too late"));
  EXPECT_EQ(endpoints[0]->Exchange(kTag, {}, {}), absl::CancelledError("enough"));
  EXPECT_EQ(ReceiveFrom(*endpoints[1], 0, into), absl::AbortedError("rank 0 gave up: enough"));
}

}  // namespace
}  // namespace crossover::net
