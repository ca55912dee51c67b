// What Exchange does over real sockets: large and empty messages, differences, and
// every way in which a peer can be lost.
#include "net/tcp_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/endpoint.h"
#include "net/message.h"
#include "net/tcp_handshake.h"
#include "net/tcp_test_support.h"

namespace crossover::net {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using Bytes = std::vector<std::byte>;

// Nobody gets there unless a test shortens it.
constexpr double kSilenceS = 60;
// More than the kernel buffers of a connection take.
constexpr size_t kLargeBytes = 12 << 20;
const MessageTag kTag{.operation = 3, .sequence = 17, .total_bytes = 4096};

absl::Status SendTo(Endpoint& endpoint, int peer, const Bytes& data) {
  const std::array sends = {SendOp{peer, data}};
  return endpoint.Exchange(kTag, sends, {});
}
absl::Status ReceiveFrom(Endpoint& endpoint, int peer, Bytes& into) {
  const std::array receives = {ReceiveOp{peer, into}};
  return endpoint.Exchange(kTag, {}, receives);
}
template <typename Work>
std::future<absl::Status> InThread(Work work) {
  return std::async(std::launch::async, std::move(work));
}

class TcpEndpointTest : public testing::Test {
 protected:
  SystemClock clock_;
};

TEST_F(TcpEndpointTest, MessagesOfEverySizeArriveInOrder) {
  const auto endpoints = MakeTcpEndpoints(2, kSilenceS, clock_);
  const std::vector<size_t> sizes = {0, 1, 31, 32, 33, 0, 100003, kLargeBytes, 0, 5};
  auto sender = InThread([&] {
    for (size_t i = 0; i < sizes.size(); ++i) {
      const absl::Status status = SendTo(*endpoints[0], 1, Bytes(sizes[i], std::byte(i)));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  });
  for (size_t i = 0; i < sizes.size(); ++i) {
    Bytes into(sizes[i]);
    const absl::Status status = ReceiveFrom(*endpoints[1], 0, into);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(into, Bytes(sizes[i], std::byte(i)));
  }
  EXPECT_TRUE(sender.get().ok());
}

TEST_F(TcpEndpointTest, LargeMessagesCrossWithoutADeadlock) {
  const auto endpoints = MakeTcpEndpoints(3, kSilenceS, clock_);
  const auto work = [&](int rank) {
    const int next = (rank + 1) % 3;
    const int previous = (rank + 2) % 3;
    const Bytes out(kLargeBytes, std::byte(rank));
    Bytes in(kLargeBytes);
    const std::array sends = {SendOp{next, out}};
    const std::array receives = {ReceiveOp{previous, in}};
    const absl::Status status = endpoints[rank]->Exchange(kTag, sends, receives);
    EXPECT_EQ(in, Bytes(kLargeBytes, std::byte(previous)));
    return status;
  };
  auto one = InThread([&] { return work(1); });
  auto two = InThread([&] { return work(2); });
  EXPECT_TRUE(work(0).ok());
  EXPECT_TRUE(one.get().ok());
  EXPECT_TRUE(two.get().ok());
}

TEST_F(TcpEndpointTest, ADifferenceShowsBothSidesToEveryone) {
  const auto endpoints = MakeTcpEndpoints(3, kSilenceS, clock_);
  ASSERT_TRUE(SendTo(*endpoints[1], 0, Bytes(4000)).ok());
  auto one = InThread([&] {
    Bytes into(4);
    return ReceiveFrom(*endpoints[1], 0, into);
  });
  auto two = InThread([&] {
    Bytes into(4);
    return ReceiveFrom(*endpoints[2], 1, into);
  });
  Bytes into(4096);
  const absl::Status status = ReceiveFrom(*endpoints[0], 1, into);
  EXPECT_EQ(status.message(),
            "rank 1 sent 4000 bytes (of 4096) of operation 0x3 sequence 17; this rank 0 expected "
            "4096 bytes (of 4096) of operation 0x3 sequence 17");
  const std::string farewell = "rank 0 gave up: " + std::string(status.message());
  EXPECT_EQ(one.get(), absl::AbortedError(farewell));
  EXPECT_EQ(two.get(), absl::AbortedError(farewell)) << "passed on by rank 1";
  EXPECT_EQ(SendTo(*endpoints[0], 1, Bytes(1)), status) << "for good";
}

TEST_F(TcpEndpointTest, ALostPeerIsNamedWithItsAddress) {
  auto endpoints = MakeTcpEndpoints(2, kSilenceS, clock_);
  ASSERT_TRUE(SendTo(*endpoints[1], 0, Bytes(4)).ok());
  endpoints[1].reset();
  Bytes into(4);
  EXPECT_TRUE(ReceiveFrom(*endpoints[0], 1, into).ok()) << "what it sent before still counts";
  const absl::Status status = ReceiveFrom(*endpoints[0], 1, into);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              MatchesRegex("rank 1 at 127\\.0\\.0\\.1:[0-9]+ closed the connection"));
}

TEST_F(TcpEndpointTest, APeerLostWhileWeSendIsNoticed) {
  auto endpoints = MakeTcpEndpoints(2, kSilenceS, clock_);
  auto sender = InThread([&] { return SendTo(*endpoints[0], 1, Bytes(kLargeBytes)); });
  endpoints[1].reset();
  const absl::Status status = sender.get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("closed the connection"));
}

TEST_F(TcpEndpointTest, WhoeverSendsToARankThatGaveUpHearsWhy) {
  const auto endpoints = MakeTcpEndpoints(2, kSilenceS, clock_);
  auto sender = InThread([&] { return SendTo(*endpoints[0], 1, Bytes(kLargeBytes)); });
  endpoints[1]->Abort(absl::InternalError("out of memory"));
  EXPECT_EQ(endpoints[1]->Exchange(kTag, {}, {}), absl::InternalError("out of memory"));
  // Rank 1 threw the message away before it left, so the first may count as sent.
  absl::Status status = sender.get();
  Bytes into(1);
  if (status.ok()) status = ReceiveFrom(*endpoints[0], 1, into);
  EXPECT_EQ(status, absl::AbortedError("rank 1 gave up: out of memory"));
}

TEST_F(TcpEndpointTest, AMessageThatWasBegunIsFinishedBeforeTheFarewell) {
  const auto endpoints = MakeTcpEndpoints(3, kSilenceS, clock_);
  ASSERT_TRUE(SendTo(*endpoints[0], 1, Bytes(7)).ok());
  auto two = InThread([&] {
    Bytes into(kLargeBytes);
    const absl::Status first = ReceiveFrom(*endpoints[2], 1, into);
    if (!first.ok()) return first;
    return ReceiveFrom(*endpoints[2], 1, into);
  });
  const Bytes out(kLargeBytes);
  Bytes in(8);  // rank 0 has sent 7
  const std::array sends = {SendOp{2, out}};
  const std::array receives = {ReceiveOp{0, in}};
  EXPECT_FALSE(endpoints[1]->Exchange(kTag, sends, receives).ok());
  EXPECT_THAT(std::string(two.get().message()), HasSubstr("rank 1 gave up: rank 0 sent 7 bytes"));
}

TEST_F(TcpEndpointTest, SilenceNamesThoseWhoWereSilentAndNoOther) {
  const auto endpoints = MakeTcpEndpoints(3, 0.2, clock_);
  ASSERT_TRUE(SendTo(*endpoints[1], 0, Bytes(4)).ok());
  Bytes one(4);
  Bytes two(4);
  const std::array receives = {ReceiveOp{1, one}, ReceiveOp{2, two}};
  const absl::Status status = endpoints[0]->Exchange(kTag, {}, receives);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              MatchesRegex("no bytes to or from rank 2 at 127\\.0\\.0\\.1:[0-9]+ for 0\\.2 s: .*"));
}

TEST_F(TcpEndpointTest, APeerThatStopsReadingIsSilentToo) {
  const auto endpoints = MakeTcpEndpoints(2, 0.2, clock_);
  const absl::Status status = SendTo(*endpoints[0], 1, Bytes(kLargeBytes));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
}

TEST_F(TcpEndpointTest, AbortWakesAWaitAndStays) {
  const auto endpoints = MakeTcpEndpoints(2, kSilenceS, clock_);
  auto waiting = InThread([&] {
    Bytes into(4);
    return ReceiveFrom(*endpoints[0], 1, into);
  });
  endpoints[0]->Abort(absl::CancelledError("enough"));
  endpoints[0]->Abort(absl::CancelledError("too late"));
  EXPECT_EQ(waiting.get(), absl::CancelledError("enough"));
  EXPECT_EQ(endpoints[0]->Exchange(kTag, {}, {}), absl::CancelledError("enough"));
  Bytes into(4);
  EXPECT_EQ(ReceiveFrom(*endpoints[1], 0, into), absl::AbortedError("rank 0 gave up: enough"));
}

// Rank 1 of 2, whose peer is a bare socket that passed the handshake.
class RawPeerTest : public TcpEndpointTest {
 protected:
  RawPeerTest() {
    auto connecting = std::async(std::launch::async, [this] {
      return ConnectTcp(std::move(world_.listeners[1]), world_.Options(1), clock_);
    });
    peer_ = std::make_unique<RawClient>(world_.addresses[1]);
    peer_->Send(EncodeGreeting(MakeGreeting(TestIdentity(0), 2)));
    peer_->Read(kGreetingBytes);
    auto endpoint = connecting.get();
    EXPECT_TRUE(endpoint.ok()) << endpoint.status();
    endpoint_ = std::move(*endpoint);
  }
  std::string ReceiveError(size_t bytes) {
    Bytes into(bytes);
    const absl::Status status = ReceiveFrom(*endpoint_, 0, into);
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  }

  TestWorld world_{2};
  std::unique_ptr<RawClient> peer_;
  std::unique_ptr<Endpoint> endpoint_;
};

TEST_F(RawPeerTest, WhatIsNoMessageIsRefused) {
  peer_->Send("thirty-two bytes and some more, of nonsense");
  peer_->Close();
  EXPECT_THAT(ReceiveError(4),
              HasSubstr("rank 0 at " + world_.addresses[0] + ": what came is no message"));
}

TEST_F(RawPeerTest, AMessageInSmallPiecesIsPutTogether) {
  const MessageHeaderBytes header =
      EncodeMessageHeader({.farewell = false, .tag = kTag, .bytes = 3});
  auto sender = std::async(std::launch::async, [&] {
    for (const std::byte& byte : header) peer_->Send(std::span(&byte, 1));
    for (const char letter : {'a', 'b', 'c'}) peer_->Send(std::string_view(&letter, 1));
  });
  Bytes into(3);
  EXPECT_TRUE(ReceiveFrom(*endpoint_, 0, into).ok());
  EXPECT_EQ(into, (Bytes{std::byte('a'), std::byte('b'), std::byte('c')}));
}

TEST_F(RawPeerTest, HalfAMessageIsALoss) {
  const MessageHeaderBytes header =
      EncodeMessageHeader({.farewell = false, .tag = kTag, .bytes = 8});
  peer_->Send(header);
  peer_->Send("half");
  peer_->Close();
  EXPECT_THAT(ReceiveError(8), HasSubstr("closed the connection"));
}

TEST_F(RawPeerTest, ALengthBeyondAllBoundsIsADifference) {
  peer_->Send(EncodeMessageHeader({.farewell = false, .tag = kTag, .bytes = ~uint64_t{0}}));
  EXPECT_THAT(ReceiveError(8), HasSubstr("rank 0 sent 18446744073709551615 bytes"));
}

TEST_F(RawPeerTest, AFarewellIsHeardAndPassedOnUnchanged) {
  const std::string text = "rank 7 gave up: no more disk";
  peer_->Send(EncodeMessageHeader({.farewell = true, .tag = {}, .bytes = text.size()}));
  peer_->Send(text);
  EXPECT_EQ(ReceiveError(8), text);
  const std::vector<std::byte> answer = peer_->Read(kMessageHeaderBytes + text.size());
  ASSERT_EQ(answer.size(), kMessageHeaderBytes + text.size());
  EXPECT_EQ(
      std::string(reinterpret_cast<const char*>(answer.data()) + kMessageHeaderBytes, text.size()),
      text);
}

TEST_F(RawPeerTest, AFarewellCutShortIsALoss) {
  peer_->Send(EncodeMessageHeader({.farewell = true, .tag = {}, .bytes = 100}));
  peer_->Send("rank 7 gave");
  peer_->Close();
  EXPECT_THAT(ReceiveError(8), HasSubstr("closed the connection"));
}

TEST_F(RawPeerTest, AFarewellWithoutBoundIsRefused) {
  peer_->Send(EncodeMessageHeader({.farewell = true, .tag = {}, .bytes = 1 << 30}));
  EXPECT_THAT(ReceiveError(8), HasSubstr("at most 1024 are allowed"));
}

}  // namespace
}  // namespace crossover::net
