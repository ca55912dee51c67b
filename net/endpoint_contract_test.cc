// What every endpoint promises (net/endpoint.h), asked of each that can be made in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/clock.h"
#include "net/endpoint.h"
#include "net/endpoint_test_support.h"
#include "net/grpc_endpoint.h"
#include "net/grpc_test_support.h"
#include "net/inproc_endpoint.h"
#include "net/tcp_endpoint.h"
#include "net/tcp_test_support.h"

namespace crossover::net {
namespace {

using testing::HasSubstr;
using Endpoints = std::vector<std::unique_ptr<Endpoint>>;

// More than kernel buffers and queues take.
constexpr size_t kLargeBytes = 12 << 20;

struct Kind {
  std::string name;
  std::function<Endpoints(int world_size, const Clock& clock)> make;
  void (*cut)(Endpoint&);
};

Endpoints MakeInproc(int world_size, const Clock& clock, bool short_moves, bool borrow) {
  InprocOptions options;
  if (short_moves) options.short_moves_seed = 7;
  options.borrow = borrow;
  return MakeInprocEndpoints(world_size, clock, options);
}

const std::vector<Kind> kKinds = {
    {"Tcp", [](int n, const Clock& clock) { return MakeTcpEndpoints(n, clock, false); },
     CutTcpConnections},
    {"TcpSplice", [](int n, const Clock& clock) { return MakeTcpEndpoints(n, clock, true); },
     CutTcpConnections},
    {"Grpc", MakeGrpcEndpoints, CutGrpcConnections},
    {"Inproc", [](int n, const Clock& clock) { return MakeInproc(n, clock, false, false); },
     CutInprocConnections},
    {"InprocBorrow", [](int n, const Clock& clock) { return MakeInproc(n, clock, false, true); },
     CutInprocConnections},
    {"InprocShortMoves", [](int n, const Clock& clock) { return MakeInproc(n, clock, true, true); },
     CutInprocConnections},
};

template <typename Work>
std::future<absl::Status> InThread(Work work) {
  return std::async(std::launch::async, std::move(work));
}

class EndpointContractTest : public testing::TestWithParam<Kind> {
 protected:
  Endpoints Make(int world_size) { return GetParam().make(world_size, clock_); }
  SystemClock clock_;
};

TEST_P(EndpointContractTest, KnowsItsPlace) {
  const Endpoints endpoints = Make(3);
  ASSERT_EQ(endpoints.size(), 3u);
  EXPECT_EQ(endpoints[2]->rank(), 2);
  EXPECT_EQ(endpoints[2]->world_size(), 3);
}

TEST_P(EndpointContractTest, BytesArriveInOrderWhateverThePieces) {
  const Endpoints endpoints = Make(2);
  const Bytes data = Pattern(3'000'017, 1);
  auto sender = InThread([&] {
    size_t sent = 0;
    for (size_t piece = 1; sent < data.size(); piece = piece * 3 + 1) {
      const size_t size = std::min(piece, data.size() - sent);
      const absl::Status status = SendAll(*endpoints[0], 1, std::span(data).subspan(sent, size));
      if (!status.ok()) return status;
      sent += size;
    }
    return absl::OkStatus();
  });
  Bytes into(data.size());
  size_t received = 0;
  for (size_t piece = 1; received < data.size(); piece = piece * 5 + 2) {
    const size_t size = std::min(piece, data.size() - received);
    ASSERT_TRUE(ReceiveAll(*endpoints[1], 0, std::span(into).subspan(received, size)).ok());
    received += size;
  }
  EXPECT_TRUE(sender.get().ok());
  EXPECT_TRUE(SameBytes(into, data));
}

TEST_P(EndpointContractTest, NothingToMoveIsNoError) {
  const Endpoints endpoints = Make(2);
  Bytes into(4);
  EXPECT_EQ(endpoints[0]->TryReceive(1, into).value(), 0u);
  EXPECT_EQ(endpoints[0]->TryReceive(1, {}).value(), 0u);
  EXPECT_EQ(endpoints[0]->TrySend(1, {}, SendMode::kCopy).value(), 0u);
}

TEST_P(EndpointContractTest, LargeDataCrossInARingWithoutADeadlock) {
  const Endpoints endpoints = Make(3);
  const auto work = [&](int rank) {
    const int previous = (rank + 2) % 3;
    const Bytes out = Pattern(kLargeBytes, rank);
    Bytes in(kLargeBytes);
    const absl::Status status = ExchangeAll(*endpoints[rank], (rank + 1) % 3, out, previous, in);
    EXPECT_TRUE(SameBytes(in, Pattern(kLargeBytes, previous)));
    return status;
  };
  auto one = InThread([&] { return work(1); });
  auto two = InThread([&] { return work(2); });
  EXPECT_TRUE(work(0).ok());
  EXPECT_TRUE(one.get().ok());
  EXPECT_TRUE(two.get().ok());
}

// Both ways at once, several times from the same buffers, which change as soon as the peer has
// acknowledged, and not before.
TEST_P(EndpointContractTest, BorrowedBytesAreRightWhenBuffersChangeAfterAnAnswer) {
  const Endpoints endpoints = Make(2);
  const auto work = [&](int rank) {
    Bytes out(5'000'003);
    Bytes in(out.size());
    for (uint32_t round = 0; round < 4; ++round) {
      out = Pattern(out.size(), 2 * round + rank);
      const int peer = 1 - rank;
      absl::Status status = ExchangeAll(*endpoints[rank], peer, std::span(out).subspan(round), peer,
                                        std::span(in).subspan(round), SendMode::kBorrow);
      if (!status.ok()) return status;
      const Bytes expected = Pattern(in.size(), 2 * round + peer);
      EXPECT_TRUE(SameBytes(std::span(in).subspan(round), std::span(expected).subspan(round)))
          << round;
      std::array<std::byte, 1> answer = {std::byte{1}};
      status = ExchangeAll(*endpoints[rank], peer, answer, peer, answer);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  };
  auto one = InThread([&] { return work(1); });
  EXPECT_TRUE(work(0).ok());
  EXPECT_TRUE(one.get().ok());
}

TEST_P(EndpointContractTest, CopiedBytesMayChangeAtOnce) {
  const Endpoints endpoints = Make(2);
  auto receiver = InThread([&] {
    Bytes in(1000);
    for (int round = 0; round < 20; ++round) {
      const absl::Status status = ReceiveAll(*endpoints[1], 0, in);
      if (!status.ok()) return status;
      EXPECT_TRUE(in == Bytes(1000, std::byte(round))) << round;
    }
    return absl::OkStatus();
  });
  Bytes out(1000);
  for (int round = 0; round < 20; ++round) {
    std::fill(out.begin(), out.end(), std::byte(round));
    EXPECT_TRUE(SendAll(*endpoints[0], 1, out, SendMode::kCopy).ok());
  }
  EXPECT_TRUE(receiver.get().ok());
}

TEST_P(EndpointContractTest, WaitEndsAtItsTimeAndLooksWithoutAny) {
  const Endpoints endpoints = Make(2);
  const std::array interests = {Interest{.peer = 1, .receive = true}};
  EXPECT_TRUE(endpoints[0]->Wait(interests, 0).ok());
  const int64_t begin_ns = clock_.NowNs();
  EXPECT_TRUE(endpoints[0]->Wait(interests, 20'000'000).ok());
  EXPECT_GE(clock_.NowNs() - begin_ns, 19'000'000);
}

TEST_P(EndpointContractTest, WakeIsKeptForTheNextWait) {
  const Endpoints endpoints = Make(2);
  endpoints[0]->Wake();
  EXPECT_TRUE(endpoints[0]->Wait({}, kPatienceNs).ok());
  const int64_t begin_ns = clock_.NowNs();
  EXPECT_TRUE(endpoints[0]->Wait({}, 20'000'000).ok());
  EXPECT_GE(clock_.NowNs() - begin_ns, 19'000'000) << "one Wake, one Wait";
  auto waiting = InThread([&] { return endpoints[0]->Wait({}, kPatienceNs); });
  endpoints[0]->Wake();
  EXPECT_TRUE(waiting.get().ok());
}

TEST_P(EndpointContractTest, NotesReachEveryoneWhoWaits) {
  const Endpoints endpoints = Make(3);
  EXPECT_EQ(endpoints[0]->NoteOf(1).text, "");
  const int64_t begin_ns = clock_.NowNs();
  endpoints[1]->Publish("first");
  endpoints[1]->Publish(std::string(kNoteBytesMax + 1, 'x'));
  endpoints[1]->Publish("in AllReduce 3");
  for (const int rank : {0, 2}) {
    while (endpoints[rank]->NoteOf(1).text != "in AllReduce 3") {
      ASSERT_TRUE(endpoints[rank]->Wait({}, kPatienceNs).ok());
    }
    EXPECT_GE(endpoints[rank]->NoteOf(1).received_ns, begin_ns);
  }
  EXPECT_EQ(endpoints[2]->NoteOf(0).text, "");
}

TEST_P(EndpointContractTest, NotesThatNobodyReadsHoldNobodyUp) {
  const Endpoints endpoints = Make(2);
  for (int i = 0; i < 20'000; ++i) endpoints[0]->Publish(std::string(kNoteBytesMax, 'x'));
  endpoints[0]->Abort(absl::InternalError("no disk"));
  EXPECT_EQ(WaitForFailure(*endpoints[1]), absl::AbortedError("rank 0 gave up: no disk"));
}

TEST_P(EndpointContractTest, AbortFromAnotherThreadEndsAWaitAndStays) {
  const Endpoints endpoints = Make(2);
  auto waiting = InThread([&] {
    Bytes into(4);
    return ReceiveAll(*endpoints[0], 1, into);
  });
  endpoints[0]->Abort(absl::CancelledError("enough"));
  endpoints[0]->Abort(absl::CancelledError("too late"));
  const absl::Status enough = absl::CancelledError("enough");
  EXPECT_EQ(waiting.get(), enough);
  Bytes bytes(4);
  EXPECT_EQ(endpoints[0]->TryReceive(1, bytes).status(), enough);
  EXPECT_EQ(endpoints[0]->TrySend(1, bytes, SendMode::kCopy).status(), enough);
  EXPECT_EQ(endpoints[0]->Wait({}, kPatienceNs), enough);
  endpoints[0]->Publish("harms nothing");
  EXPECT_EQ(ReceiveAll(*endpoints[1], 0, bytes), absl::AbortedError("rank 0 gave up: enough"));
}

TEST_P(EndpointContractTest, AbortEndsASenderWhoseBytesNobodyTakes) {
  const Endpoints endpoints = Make(2);
  auto sending =
      InThread([&] { return SendAll(*endpoints[0], 1, Bytes(kLargeBytes), SendMode::kBorrow); });
  endpoints[0]->Abort(absl::CancelledError("enough"));
  EXPECT_EQ(sending.get(), absl::CancelledError("enough"));
}

TEST_P(EndpointContractTest, LastWordsReachWhoeverWaitsForSomebodyElse) {
  const Endpoints endpoints = Make(3);
  auto waiting = InThread([&] {
    Bytes into(4);
    return ReceiveAll(*endpoints[0], 1, into);  // of rank 1, who is well
  });
  endpoints[2]->Abort(absl::InternalError("out of memory"));
  const absl::Status words = absl::AbortedError("rank 2 gave up: out of memory");
  EXPECT_EQ(waiting.get(), words);
  EXPECT_EQ(WaitForFailure(*endpoints[1]), words);
}

TEST_P(EndpointContractTest, LastWordsArePassedOnUnchanged) {
  Endpoints endpoints = Make(3);
  const absl::Status words = absl::AbortedError("rank 7 gave up: no disk");
  endpoints[1]->Abort(words);
  EXPECT_EQ(WaitForFailure(*endpoints[0]), words);
  endpoints[1].reset();
  EXPECT_EQ(WaitForFailure(*endpoints[2]), words) << "whoever said them first";
}

TEST_P(EndpointContractTest, LastWordsOutliveTheEndpoint) {
  Endpoints endpoints = Make(2);
  for (int i = 0; i < 100; ++i) endpoints[0]->Publish("unread when rank 1 leaves");
  ASSERT_TRUE(SendAll(*endpoints[0], 1, Bytes(1000)).ok());  // as well
  endpoints[1]->Abort(absl::InternalError("out of memory"));
  endpoints[1].reset();
  Bytes into(4);
  EXPECT_EQ(ReceiveAll(*endpoints[0], 1, into),
            absl::AbortedError("rank 1 gave up: out of memory"));
}

TEST_P(EndpointContractTest, WhoeverSendsToARankThatGaveUpHearsWhy) {
  Endpoints endpoints = Make(2);
  auto sending = InThread([&] { return SendAll(*endpoints[0], 1, Bytes(kLargeBytes)); });
  endpoints[1]->Abort(absl::InternalError("out of memory"));
  endpoints[1].reset();
  EXPECT_EQ(sending.get(), absl::AbortedError("rank 1 gave up: out of memory"));
}

TEST_P(EndpointContractTest, ARankThatHasLeftIsMissedOnlyByThoseWhoWantMoreOfIt) {
  Endpoints endpoints = Make(3);
  const Bytes data = Pattern(1000, 1);
  ASSERT_TRUE(SendAll(*endpoints[1], 0, data).ok());
  endpoints[1].reset();
  EXPECT_TRUE(endpoints[0]->Wait({}, 50'000'000).ok());
  // Rank 2 is well, and is waited for past rank 1's end.
  auto two = InThread([&] {
    const absl::Status status = endpoints[2]->Wait({}, 50'000'000);
    return status.ok() ? SendAll(*endpoints[2], 0, data) : status;
  });
  Bytes into(data.size());
  EXPECT_TRUE(ReceiveAll(*endpoints[0], 2, into).ok());
  EXPECT_TRUE(two.get().ok());
  EXPECT_TRUE(ReceiveAll(*endpoints[0], 1, into).ok()) << "what it sent before still counts";
  EXPECT_TRUE(SameBytes(into, data));
  const absl::Status status = ReceiveAll(*endpoints[0], 1, into);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has left: it ended its part"));
  EXPECT_THAT(std::string(WaitForFailure(*endpoints[2]).message()),
              HasSubstr("rank 0 gave up: rank 1"));
}

TEST_P(EndpointContractTest, NothingCanBeSentToARankThatHasLeft) {
  Endpoints endpoints = Make(2);
  endpoints[1].reset();
  const absl::Status status = SendAll(*endpoints[0], 1, Bytes(kLargeBytes), SendMode::kBorrow);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has left"));
}

TEST_P(EndpointContractTest, LeavingRightAfterTheLastByteLosesNothing) {
  for (const SendMode mode : {SendMode::kCopy, SendMode::kBorrow}) {
    Endpoints endpoints = Make(2);
    const Bytes data = Pattern(2'000'000, 1);
    auto sender = InThread([&] {
      const absl::Status status = SendAll(*endpoints[1], 0, data, mode);
      endpoints[1].reset();
      return status;
    });
    endpoints[0]->Publish("unread when rank 1 leaves");
    Bytes into(data.size());
    const absl::Status received = ReceiveAll(*endpoints[0], 1, into);
    EXPECT_TRUE(received.ok()) << received;
    EXPECT_TRUE(SameBytes(into, data));
    EXPECT_TRUE(sender.get().ok());
  }
}

TEST_P(EndpointContractTest, EveryoneMayLeaveAtOnce) {
  Endpoints endpoints = Make(4);
  std::vector<std::future<absl::Status>> ranks;
  for (std::unique_ptr<Endpoint>& endpoint : endpoints) {
    ranks.push_back(InThread([&endpoint] {
      const int rank = endpoint->rank();
      std::array<std::byte, 1> token{};
      const absl::Status status =
          ExchangeAll(*endpoint, (rank + 1) % 4, token, (rank + 3) % 4, token);
      endpoint.reset();
      return status;
    }));
  }
  for (std::future<absl::Status>& rank : ranks) EXPECT_TRUE(rank.get().ok());
}

TEST_P(EndpointContractTest, ADeathIsALossForEveryoneWhoWaits) {
  Endpoints endpoints = Make(3);
  auto waiting = InThread([&] {
    Bytes into(4);
    return ReceiveAll(*endpoints[0], 1, into);
  });
  GetParam().cut(*endpoints[2]);
  const absl::Status status = waiting.get();
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 2"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("closed the connection"));
  EXPECT_THAT(std::string(WaitForFailure(*endpoints[1]).message()),
              HasSubstr("closed the connection"));
}

TEST_P(EndpointContractTest, ADeathWhileBytesAreSentIsALoss) {
  Endpoints endpoints = Make(2);
  auto sending =
      InThread([&] { return SendAll(*endpoints[0], 1, Bytes(kLargeBytes), SendMode::kBorrow); });
  GetParam().cut(*endpoints[1]);
  const absl::Status status = sending.get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("closed the connection"));
}

INSTANTIATE_TEST_SUITE_P(All, EndpointContractTest, testing::ValuesIn(kKinds),
                         [](const auto& info) { return info.param.name; });

TEST(LastWordsTest, NameTheFirstWhoGaveUpAndAreCut) {
  EXPECT_EQ(LastWords(1, absl::InternalError("no disk")), "rank 1 gave up: no disk");
  EXPECT_EQ(LastWords(1, absl::AbortedError("rank 12 gave up: x")), "rank 12 gave up: x");
  EXPECT_EQ(LastWords(1, absl::AbortedError("rank  gave up: x")),
            "rank 1 gave up: rank  gave up: x");
  EXPECT_EQ(LastWords(1, absl::AbortedError("rank 2")), "rank 1 gave up: rank 2");
  EXPECT_EQ(LastWords(1, absl::InternalError(std::string(2000, 'x'))).size(), kLastWordsBytesMax);
}

}  // namespace
}  // namespace crossover::net
