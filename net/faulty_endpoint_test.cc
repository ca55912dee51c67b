#include "net/faulty_endpoint.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "absl/status/status.h"
#include "core/clock.h"
#include "net/endpoint_test_support.h"
#include "net/inproc_endpoint.h"
#include "net/tcp_endpoint.h"
#include "net/tcp_test_support.h"

namespace crossover::net {
namespace {

const std::array<std::byte, 1> kByte = {std::byte{7}};

absl::Status SendByte(Endpoint& endpoint, int peer) {
  return endpoint.TrySend(peer, kByte, SendMode::kCopy).status();
}

TEST(FaultyEndpointTest, PassesOnWhatIsNotPlannedAndCountsMoves) {
  SystemClock clock;
  const auto endpoints = MakeInprocEndpoints(2, clock);
  FaultyEndpoint faulty(*endpoints[1], FaultPlan{}, clock);
  EXPECT_EQ(faulty.rank(), 1);
  EXPECT_EQ(faulty.world_size(), 2);
  EXPECT_FALSE(faulty.borrows());
  std::array<std::byte, 1> in{};
  EXPECT_EQ(faulty.TryReceive(0, in).value(), 0u);
  EXPECT_EQ(faulty.moves(), 0) << "nothing moved";
  ASSERT_TRUE(SendByte(faulty, 0).ok());
  ASSERT_TRUE(SendByte(*endpoints[0], 1).ok());
  ASSERT_TRUE(ReceiveAll(faulty, 0, in).ok());
  EXPECT_EQ(in, kByte);
  EXPECT_EQ(faulty.moves(), 2);
  EXPECT_FALSE(faulty.has_struck());
  endpoints[0]->Publish("busy");
  ASSERT_TRUE(faulty.Wait({}, 0).ok());
  EXPECT_EQ(faulty.NoteOf(0).text, "busy");
  faulty.Publish("idle");
  ASSERT_TRUE(endpoints[0]->Wait({}, 0).ok());
  EXPECT_EQ(endpoints[0]->NoteOf(1).text, "idle");
}

TEST(FaultyEndpointTest, FailsAtThePlannedMoveForItselfAndItsPeers) {
  SystemClock clock;
  const auto endpoints = MakeInprocEndpoints(2, clock);
  FaultPlan plan;
  plan.fail_at = 1;
  plan.failure = absl::InternalError("planned");
  FaultyEndpoint faulty(*endpoints[0], plan, clock);
  EXPECT_TRUE(SendByte(faulty, 1).ok());
  EXPECT_FALSE(faulty.has_struck());
  EXPECT_EQ(SendByte(faulty, 1), plan.failure);
  EXPECT_TRUE(faulty.has_struck());
  EXPECT_EQ(faulty.Wait({}, 0), plan.failure);
  EXPECT_EQ(WaitForFailure(*endpoints[1]), absl::AbortedError("rank 0 gave up: planned"));
}

TEST(FaultyEndpointTest, DiesAtThePlannedMoveWithoutAWord) {
  SystemClock clock;
  for (const bool tcp : {false, true}) {
    const auto endpoints = tcp ? MakeTcpEndpoints(2, clock) : MakeInprocEndpoints(2, clock);
    FaultPlan plan;
    plan.die_at = 1;
    plan.die = tcp ? CutTcpConnections : CutInprocConnections;
    FaultyEndpoint faulty(*endpoints[0], plan, clock);
    EXPECT_TRUE(SendByte(faulty, 1).ok());
    const absl::Status death = absl::UnavailableError("injected death");
    EXPECT_EQ(SendByte(faulty, 1), death);
    EXPECT_TRUE(faulty.has_struck());
    faulty.Abort(absl::InternalError("nobody hears it"));
    EXPECT_EQ(faulty.Wait({}, kPatienceNs), death);
    EXPECT_EQ(WaitForFailure(*endpoints[1]).code(), absl::StatusCode::kUnavailable);
  }
}

TEST(FaultyEndpointTest, DelaysThePlannedMoveOnce) {
  ManualClock clock;
  const auto endpoints = MakeInprocEndpoints(2, clock);
  FaultPlan plan;
  plan.delay_at = 1;
  plan.delay_ns = 500;
  FaultyEndpoint faulty(*endpoints[0], plan, clock);
  EXPECT_TRUE(SendByte(faulty, 1).ok());
  EXPECT_EQ(clock.NowNs(), 0);
  std::array<std::byte, 1> in{};
  EXPECT_TRUE(faulty.TryReceive(1, in).ok());
  EXPECT_TRUE(SendByte(faulty, 1).ok());
  EXPECT_EQ(clock.NowNs(), 500);
  EXPECT_FALSE(faulty.has_struck());
}

TEST(FaultyEndpointTest, AbortAndWakeReachTheInnerEndpoint) {
  SystemClock clock;
  const auto endpoints = MakeInprocEndpoints(1, clock);
  FaultyEndpoint faulty(*endpoints[0], FaultPlan{}, clock);
  faulty.Wake();
  EXPECT_TRUE(faulty.Wait({}, kPatienceNs).ok());
  faulty.Abort(absl::CancelledError("enough"));
  EXPECT_EQ(endpoints[0]->Wait({}, 0), absl::CancelledError("enough"));
}

}  // namespace
}  // namespace crossover::net
