// What is TCP's own: addresses in errors, resets, what a peer without manners may say, the kernel's
// congestion control. net/endpoint_contract_test.cc holds what every endpoint promises.
#include "net/tcp_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <csignal>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/control_message.h"
#include "net/endpoint.h"
#include "net/endpoint_test_support.h"
#include "net/socket.h"
#include "net/tcp_handshake.h"
#include "net/tcp_test_support.h"

namespace crossover::net {
namespace {

std::string CongestionControlOf(int fd) {
  char name[16] = {};
  socklen_t size = sizeof(name);
  EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
  return name;
}

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST(TcpEndpointTest, BorrowsWhereItSplices) {
  const SystemClock clock;
  EXPECT_TRUE(MakeTcpEndpoints(1, clock, true)[0]->borrows());
  EXPECT_FALSE(MakeTcpEndpoints(1, clock, false)[0]->borrows());
}

TEST(TcpEndpointTest, ALostPeerIsNamedWithItsAddress) {
  const SystemClock clock;
  const auto endpoints = MakeTcpEndpoints(2, clock);
  CutTcpConnections(*endpoints[1]);
  EXPECT_THAT(Text(WaitForFailure(*endpoints[0])),
              MatchesRegex("rank 1 at 127\\.0\\.0\\.1:[0-9]+ closed the connection.*"));
}

TEST(TcpEndpointTest, ARankThatHasLeftIsNamedWithItsAddress) {
  const SystemClock clock;
  auto endpoints = MakeTcpEndpoints(2, clock);
  endpoints[1].reset();
  Bytes into(4);
  EXPECT_THAT(Text(ReceiveAll(*endpoints[0], 1, into)),
              MatchesRegex("rank 1 at 127\\.0\\.0\\.1:[0-9]+ has left: .* rank 0 was not done .*"));
}

TEST(TcpEndpointTest, WhatASlowPeerHasNotReadIsStillDeliveredAfterLeaving) {
  const SystemClock clock;
  auto endpoints = MakeTcpEndpoints(2, clock);
  const Bytes data = Pattern(12 << 20, 1);
  size_t sent = 0;  // what the kernel takes without anybody reading
  while (true) {
    const auto moved = endpoints[0]->TrySend(1, std::span(data).subspan(sent), SendMode::kCopy);
    ASSERT_TRUE(moved.ok()) << moved.status();
    if (*moved == 0) break;
    sent += *moved;
  }
  endpoints[0].reset();  // gives up waiting, not the bytes
  Bytes into(sent);
  const absl::Status status = ReceiveAll(*endpoints[1], 0, into);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(SameBytes(into, std::span(data).first(sent)));
}

// Of both ends: the socket that a test can see is the listener's.
TEST(TcpEndpointTest, TheCongestionControlIsSetOrTheHostsChoicesAreNamed) {
  EXPECT_THAT(Text(TcpListener::Listen("127.0.0.1", 0, "nonsense").status()),
              AllOf(HasSubstr("the congestion control 'nonsense' cannot be used here (No such "
                              "file or directory): this host has "),
                    HasSubstr("reno")));
  const auto listener = TcpListener::Listen("127.0.0.1", 0, "reno");  // every kernel has it
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ(CongestionControlOf((*listener)->fd()), "reno");
  const auto connecting = StartConnection((*listener)->address(), "reno");
  ASSERT_TRUE(connecting.ok()) << connecting.status();
  EXPECT_EQ(CongestionControlOf(connecting->get()), "reno");
  std::string from;
  UniqueFd accepted;
  while (!accepted.valid()) accepted = AcceptConnection((*listener)->fd(), from);
  EXPECT_EQ(CongestionControlOf(accepted.get()), "reno");
}

// Rank 1 of 2, whose peer is two bare sockets that passed the handshake.
class RawPeerTest : public testing::Test {
 protected:
  RawPeerTest() {
    auto connecting = std::async(std::launch::async, [this] {
      return ConnectTcp(std::move(world_.listeners[1]), world_.Options(1), clock_);
    });
    data_ = Greet(Channel::kData);
    control_ = Greet(Channel::kControl);
    auto endpoint = connecting.get();
    EXPECT_TRUE(endpoint.ok()) << endpoint.status();
    endpoint_ = std::move(*endpoint);
  }
  std::unique_ptr<RawClient> Greet(Channel channel) {
    auto client = std::make_unique<RawClient>(world_.addresses[1]);
    client->Send(EncodeGreeting(MakeGreeting(TestIdentity(0), 2, channel)));
    client->Read(kGreetingBytes);
    return client;
  }
  std::string ReceiveError() {
    Bytes into(8);
    return Text(ReceiveAll(*endpoint_, 0, into));
  }
  std::string name() const { return "rank 0 at " + world_.addresses[0]; }

  SystemClock clock_;
  TestWorld world_{2};
  std::unique_ptr<RawClient> data_;
  std::unique_ptr<RawClient> control_;
  std::unique_ptr<Endpoint> endpoint_;
};

TEST_F(RawPeerTest, ControlMessagesInSmallPiecesArePutTogether) {
  const std::string note = EncodeControlMessage(ControlKind::kNote, "busy");
  const std::string words = EncodeControlMessage(ControlKind::kLastWords, "rank 7 gave up: disk");
  auto sender = std::async(std::launch::async, [&] {
    for (const char& letter : note + words) control_->Send(std::string_view(&letter, 1));
  });
  EXPECT_EQ(WaitForFailure(*endpoint_), absl::AbortedError("rank 7 gave up: disk"));
  EXPECT_EQ(endpoint_->NoteOf(0).text, "busy");
}

TEST_F(RawPeerTest, LastWordsAreAnsweredWithTheSame) {
  const std::string words = EncodeControlMessage(ControlKind::kLastWords, "rank 7 gave up: disk");
  control_->Send(words);
  EXPECT_EQ(Text(WaitForFailure(*endpoint_)), "rank 7 gave up: disk");
  const Bytes answer = control_->Read(words.size());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(answer.data()), answer.size()), words);
}

TEST_F(RawPeerTest, LastWordsThatComeAfterTheDataWereLostAreWaitedFor) {
  data_->CloseWithReset();
  auto sender = std::async(std::launch::async, [&] {
    clock_.SleepNs(50'000'000);
    control_->Send(EncodeControlMessage(ControlKind::kLastWords, "rank 7 gave up: disk"));
  });
  EXPECT_EQ(ReceiveError(), "rank 7 gave up: disk");
}

TEST_F(RawPeerTest, AResetOfTheDataIsALossWithItsCause) {
  data_->CloseWithReset();
  EXPECT_EQ(ReceiveError(), name() + " closed the connection (Connection reset by peer)");
}

TEST_F(RawPeerTest, AResetOfTheControlConnectionIsALossForWhoeverWaits) {
  control_->CloseWithReset();
  EXPECT_EQ(Text(WaitForFailure(*endpoint_)),
            name() + " closed the connection (Connection reset by peer)");
}

TEST_F(RawPeerTest, AnEndWithoutGoodbyeIsALoss) {
  control_->Close();
  EXPECT_EQ(Text(WaitForFailure(*endpoint_)), name() + " closed the connection");
}

TEST_F(RawPeerTest, HalfAGoodbyeIsALoss) {
  control_->Send(EncodeControlMessage(ControlKind::kGoodbye, "").substr(0, 7));
  control_->Close();
  EXPECT_EQ(Text(WaitForFailure(*endpoint_)), name() + " closed the connection");
}

TEST_F(RawPeerTest, LastWordsCutShortAreALoss) {
  const std::string words = EncodeControlMessage(ControlKind::kLastWords, "rank 7 gave up: disk");
  control_->Send(words.substr(0, words.size() - 1));
  control_->Close();
  EXPECT_EQ(Text(WaitForFailure(*endpoint_)), name() + " closed the connection");
}

TEST_F(RawPeerTest, WhatIsNoControlMessageIsRefused) {
  control_->Send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(Text(WaitForFailure(*endpoint_)),
              HasSubstr(name() + ": what came is no control message"));
}

TEST_F(RawPeerTest, DataStillCountAfterAGoodbyeAndTheirEndIsAnError) {
  data_->Send("12345678");
  control_->Send(EncodeControlMessage(ControlKind::kGoodbye, ""));
  control_->Close();
  data_->Close();
  EXPECT_TRUE(endpoint_->Wait({}, 10'000'000).ok());
  EXPECT_EQ(ReceiveError(), "") << "the eight bytes";
  EXPECT_THAT(ReceiveError(), HasSubstr(name() + " has left"));
}

TEST_F(RawPeerTest, ABrokenPipeEndsASpliceNotTheProcess) {
  Bytes data(1 << 20);
  ASSERT_TRUE(endpoint_->TrySend(0, data, SendMode::kBorrow).ok());
  data_->CloseWithReset();
  control_->CloseWithReset();
  absl::Status status;
  while (status.ok()) status = SendAll(*endpoint_, 0, data, SendMode::kBorrow);
  EXPECT_THAT(Text(status), HasSubstr(name() + " closed the connection"));
  struct sigaction action {};
  sigaction(SIGPIPE, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_IGN);
}

}  // namespace
}  // namespace crossover::net
