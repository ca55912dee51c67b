// What is gRPC's own: who is let in, and what errors say. net/endpoint_contract_test.cc holds what
// every endpoint promises, net/grpc_link_test.cc what travels.
#include "net/grpc_endpoint.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/endpoint.h"
#include "net/endpoint_test_support.h"
#include "net/grpc_link.h"
#include "net/grpc_setup.h"
#include "net/grpc_test_support.h"
#include "net/tcp_relay.h"
#include "net/tls_pem.h"

namespace crossover::net {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using Connected = absl::StatusOr<std::unique_ptr<Endpoint>>;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

class GrpcEndpointTest : public testing::Test {
 protected:
  std::future<Connected> Connect(int rank, const GrpcEndpointOptions& options) {
    return std::async(std::launch::async, [this, rank, options] {
      return ConnectGrpc(std::move(world_.listeners[rank]), options, clock_);
    });
  }
  SystemClock clock_;
  GrpcTestWorld world_{2};
};

TEST_F(GrpcEndpointTest, ALostPeerIsNamedWithItsAddress) {
  for (const int lost : {0, 1}) {  // who calls and who is called
    const auto endpoints = MakeGrpcEndpoints(2, clock_);
    CutGrpcConnections(*endpoints[lost]);
    EXPECT_THAT(Text(WaitForFailure(*endpoints[1 - lost])),
                MatchesRegex("rank [01] at 127\\.0\\.0\\.1:[0-9]+ closed the connection.*"));
  }
}

// As when a process dies: the kernel closes its connections.
TEST_F(GrpcEndpointTest, AClosedConnectionIsALossOnBothSides) {
  TcpRelay relay(world_.addresses[1]);
  GrpcEndpointOptions options = world_.Options(0);
  options.addresses[1] = relay.address();
  auto connecting = Connect(1, world_.Options(1));
  const Connected zero = Connect(0, options).get();
  const Connected one = connecting.get();
  ASSERT_TRUE(zero.ok() && one.ok());
  ASSERT_GT((*zero)->TrySend(1, Pattern(4 << 20, 1), SendMode::kCopy).value(), 0u);
  relay.Cut();
  EXPECT_THAT(Text(WaitForFailure(**zero)),
              MatchesRegex("rank 1 at 127\\.0\\.0\\.1:[0-9]+ closed the connection.*"));
  EXPECT_THAT(Text(WaitForFailure(**one)),
              MatchesRegex("rank 0 at 127\\.0\\.0\\.1:[0-9]+ closed the connection.*"));
}

TEST_F(GrpcEndpointTest, ARankThatHasLeftIsNamedWithItsAddress) {
  for (const int leaving : {0, 1}) {
    auto endpoints = MakeGrpcEndpoints(2, clock_);
    endpoints[leaving].reset();
    Bytes into(4);
    EXPECT_THAT(Text(ReceiveAll(*endpoints[1 - leaving], leaving, into)),
                MatchesRegex("rank [01] at 127\\.0\\.0\\.1:[0-9]+ has left: .*"));
  }
}

// As much as the window takes, with nobody reading.
TEST_F(GrpcEndpointTest, WhatASlowPeerHasNotReadIsStillThereAfterLeaving) {
  auto endpoints = MakeGrpcEndpoints(2, clock_);
  const Bytes data = Pattern(4 << 20, 1);
  size_t sent = 0;
  while (true) {
    const auto moved = endpoints[0]->TrySend(1, std::span(data).subspan(sent), SendMode::kCopy);
    ASSERT_TRUE(moved.ok()) << moved.status();
    if (*moved == 0) break;
    sent += *moved;
  }
  EXPECT_EQ(sent, kGrpcWindowBytes);
  endpoints[0].reset();
  Bytes into(sent);
  const absl::Status status = ReceiveAll(*endpoints[1], 0, into);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(SameBytes(into, std::span(data).first(sent)));
}

TEST_F(GrpcEndpointTest, WhoeverComesLateIsWaitedFor) {
  auto zero = Connect(0, world_.Options(0));
  EXPECT_EQ(zero.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  auto one = Connect(1, world_.Options(1));
  EXPECT_TRUE(zero.get().ok());
  EXPECT_TRUE(one.get().ok());
}

TEST_F(GrpcEndpointTest, AnotherTokenOrJobIsRefusedBeforeAnythingElse) {
  GrpcEndpointOptions options = world_.Options(1);
  options.connect_s = 1;
  auto one = Connect(1, options);
  options = world_.Options(0);
  options.identity.token.back() ^= 1;
  EXPECT_THAT(Text(Connect(0, options).get().status()),
              AllOf(HasSubstr("rank 1 at 127.0.0.1:"), HasSubstr("refused this rank 0: "),
                    HasSubstr("token")));
  const absl::Status missing = one.get().status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(missing), AllOf(HasSubstr("rank 1 has no connection with rank 0 at 127.0.0.1:"),
                                   HasSubstr("(it has not connected) after 1 s")));
}

TEST_F(GrpcEndpointTest, AnotherNumberOfRanksIsRefused) {
  auto one = Connect(1, world_.Options(1));
  GrpcEndpointOptions options = world_.Options(0);
  options.addresses.push_back("127.0.0.1:1");
  const absl::Status status = Connect(0, options).get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  EXPECT_THAT(Text(status), HasSubstr("refused this rank 0: the caller at 127.0.0.1:"));
  world_.listeners[0] = std::move(*GrpcListener::Listen("127.0.0.1", 0, ""));
  EXPECT_TRUE(Connect(0, world_.Options(0)).get().ok()) << "the right one is still welcome";
  EXPECT_TRUE(one.get().ok());
}

TEST_F(GrpcEndpointTest, WhoDoesNotAnswerIsNamedWithTheReason) {
  world_.listeners[1].reset();
  GrpcEndpointOptions options = world_.Options(0);
  options.connect_s = 0.3;
  EXPECT_THAT(Text(Connect(0, options).get().status()),
              AllOf(HasSubstr("no connection with rank 1 at 127.0.0.1:"),
                    HasSubstr("Connection refused"), HasSubstr("after 0.3 s")));
}

TEST_F(GrpcEndpointTest, SomebodyElsesServerIsNamed) {
  grpc::CallbackGenericService anything;  // knows no method
  const auto other = StartServer({"127.0.0.1:0"}, [&](grpc::ServerBuilder& builder) {
    builder.RegisterCallbackGenericService(&anything);
  });
  ASSERT_TRUE(other.ok());
  GrpcEndpointOptions options = world_.Options(0);
  options.addresses[1] = other->address;
  EXPECT_THAT(Text(Connect(0, options).get().status()),
              HasSubstr("who is no rank of a Crossover job: check the address"));
}

TEST_F(GrpcEndpointTest, ARankWithAnotherCertificateGetsNowhere) {
  const std::string pem = *MakeTlsPem();
  for (const std::string& theirs : {std::string(), *MakeTlsPem()}) {
    for (int rank : {0, 1}) {
      world_.listeners[rank] =
          std::move(*GrpcListener::Listen("127.0.0.1", 0, rank == 0 ? pem : theirs));
    }
    std::array<GrpcEndpointOptions, 2> options = {world_.Options(0), world_.Options(1)};
    for (int rank : {0, 1}) {
      options[rank].identity.tls_pem = rank == 0 ? pem : theirs;
      options[rank].connect_s = 0.5;
    }
    auto stranger = Connect(1, options[1]);
    EXPECT_FALSE(Connect(0, options[0]).get().ok());
    EXPECT_FALSE(stranger.get().ok());
  }
}

TEST_F(GrpcEndpointTest, ConnectingCanBeCancelled) {
  GrpcEndpointOptions options = world_.Options(0);
  options.cancelled = [] { return absl::CancelledError("the run was aborted"); };
  EXPECT_EQ(Connect(0, options).get().status(), absl::CancelledError("the run was aborted"));
}

TEST_F(GrpcEndpointTest, ASecondCallerIsRefused) {
  auto connecting = Connect(1, world_.Options(1));
  const Connected zero = Connect(0, world_.Options(0)).get();
  const Connected one = connecting.get();
  ASSERT_TRUE(zero.ok() && one.ok());
  world_.listeners[0] = std::move(*GrpcListener::Listen("127.0.0.1", 0, ""));
  EXPECT_THAT(Text(Connect(0, world_.Options(0)).get().status()),
              HasSubstr("it is connected to all ranks already"));
  const Bytes data = Pattern(10, 1);
  Bytes into(10);
  EXPECT_TRUE(SendAll(**zero, 1, data).ok());
  EXPECT_TRUE(ReceiveAll(**one, 0, into).ok()) << "the first is not disturbed";
}

TEST_F(GrpcEndpointTest, ATakenPortIsNamed) {
  const std::string address = world_.listeners[0]->address();
  const int port = std::stoi(address.substr(address.find(':') + 1));
  EXPECT_THAT(Text(GrpcListener::Listen("127.0.0.1", port, "").status()), HasSubstr(address));
}

}  // namespace
}  // namespace crossover::net
