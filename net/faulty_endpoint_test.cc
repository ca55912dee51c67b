#include "net/faulty_endpoint.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "absl/status/status.h"
#include "core/clock.h"
#include "net/inproc_endpoint.h"

namespace crossover::net {
namespace {

TEST(FaultyEndpointTest, PassesOnWhatIsNotPlanned) {
  SystemClock clock;
  const auto endpoints = MakeInprocEndpoints(2, 60, clock);
  FaultyEndpoint faulty(*endpoints[1], FaultPlan{}, clock);
  EXPECT_EQ(faulty.rank(), 1);
  EXPECT_EQ(faulty.world_size(), 2);
  const std::array<std::byte, 1> out = {std::byte{7}};
  const std::array sends = {SendOp{0, out}};
  EXPECT_TRUE(faulty.Exchange({}, sends, {}).ok());
  EXPECT_EQ(faulty.exchanges(), 1);
  std::array<std::byte, 1> in{};
  const std::array receives = {ReceiveOp{1, in}};
  EXPECT_TRUE(endpoints[0]->Exchange({}, {}, receives).ok());
  EXPECT_EQ(in, out);
}

TEST(FaultyEndpointTest, FailsThePlannedExchangeForItselfAndItsPeers) {
  SystemClock clock;
  const auto endpoints = MakeInprocEndpoints(2, 60, clock);
  FaultPlan plan;
  plan.fail_at = 1;
  plan.failure = absl::InternalError("planned");
  FaultyEndpoint faulty(*endpoints[0], plan, clock);
  EXPECT_TRUE(faulty.Exchange({}, {}, {}).ok());
  EXPECT_EQ(faulty.Exchange({}, {}, {}), plan.failure);
  EXPECT_EQ(faulty.Exchange({}, {}, {}), plan.failure);
  const std::array receives = {ReceiveOp{0, {}}};
  EXPECT_EQ(endpoints[1]->Exchange({}, {}, receives),
            absl::AbortedError("rank 0 gave up: planned"));
}

TEST(FaultyEndpointTest, DelaysThePlannedExchange) {
  ManualClock clock;
  const auto endpoints = MakeInprocEndpoints(1, 60, clock);
  FaultPlan plan;
  plan.delay_at = 1;
  plan.delay_ns = 500;
  FaultyEndpoint faulty(*endpoints[0], plan, clock);
  EXPECT_TRUE(faulty.Exchange({}, {}, {}).ok());
  EXPECT_EQ(clock.NowNs(), 0);
  EXPECT_TRUE(faulty.Exchange({}, {}, {}).ok());
  EXPECT_EQ(clock.NowNs(), 500);
}

TEST(FaultyEndpointTest, AbortReachesTheInnerEndpoint) {
  SystemClock clock;
  const auto endpoints = MakeInprocEndpoints(1, 60, clock);
  FaultyEndpoint faulty(*endpoints[0], FaultPlan{}, clock);
  faulty.Abort(absl::CancelledError("enough"));
  EXPECT_EQ(endpoints[0]->Exchange({}, {}, {}), absl::CancelledError("enough"));
}

}  // namespace
}  // namespace crossover::net
