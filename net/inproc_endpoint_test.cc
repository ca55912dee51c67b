// What is the in-process endpoint's own; net/endpoint_contract_test.cc holds what every endpoint
// promises.
#include "net/inproc_endpoint.h"

#include <gtest/gtest.h>

#include <set>
#include <span>

#include "core/clock.h"
#include "net/endpoint_test_support.h"

namespace crossover::net {
namespace {

TEST(InprocEndpointTest, AQueueTakesItsBytesAndNoMore) {
  const SystemClock clock;
  InprocOptions options;
  options.queue_bytes = 10;
  const auto endpoints = MakeInprocEndpoints(2, clock, options);
  const Bytes data(16);
  EXPECT_EQ(endpoints[0]->TrySend(1, data, SendMode::kCopy).value(), 10u);
  EXPECT_EQ(endpoints[0]->TrySend(1, data, SendMode::kCopy).value(), 0u);
  Bytes into(4);
  EXPECT_EQ(endpoints[1]->TryReceive(0, into).value(), 4u);
  EXPECT_EQ(endpoints[0]->TrySend(1, data, SendMode::kCopy).value(), 4u);
}

TEST(InprocEndpointTest, BorrowedBytesThatChangeTooEarlyAreFoundOut) {
  const SystemClock clock;
  InprocOptions options;
  options.borrow = true;
  const auto endpoints = MakeInprocEndpoints(2, clock, options);
  EXPECT_TRUE(endpoints[0]->borrows());
  Bytes data(4, std::byte{1});
  ASSERT_TRUE(SendAll(*endpoints[0], 1, data, SendMode::kBorrow).ok());
  ASSERT_TRUE(SendAll(*endpoints[0], 1, data, SendMode::kCopy).ok());
  data.assign(4, std::byte{2});
  Bytes into(8);
  ASSERT_TRUE(ReceiveAll(*endpoints[1], 0, into).ok());
  EXPECT_EQ(into[0], std::byte{2});
  EXPECT_EQ(into[4], std::byte{1});
}

TEST(InprocEndpointTest, BorrowedBytesOutliveTheirSender) {
  const SystemClock clock;
  InprocOptions options;
  options.borrow = true;
  auto endpoints = MakeInprocEndpoints(2, clock, options);
  {
    const Bytes data = Pattern(1000, 1);
    ASSERT_TRUE(SendAll(*endpoints[0], 1, data, SendMode::kBorrow).ok());
    endpoints[0].reset();
  }
  Bytes into(1000);
  ASSERT_TRUE(ReceiveAll(*endpoints[1], 0, into).ok());
  EXPECT_EQ(into, Pattern(1000, 1));
}

TEST(InprocEndpointTest, ShortMovesAreOfEveryLengthAndRepeatBySeed) {
  const SystemClock clock;
  const auto moves_of = [&](uint64_t seed) {
    InprocOptions options;
    options.short_moves_seed = seed;
    const auto endpoints = MakeInprocEndpoints(2, clock, options);
    std::vector<size_t> moves;
    Bytes bytes(8);
    for (int i = 0; i < 200; ++i) {
      moves.push_back(endpoints[0]->TrySend(1, bytes, SendMode::kCopy).value());
      moves.push_back(endpoints[1]->TryReceive(0, bytes).value());
    }
    return moves;
  };
  const std::vector<size_t> moves = moves_of(3);
  EXPECT_EQ(std::set<size_t>(moves.begin(), moves.end()),
            (std::set<size_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(moves, moves_of(3));
  EXPECT_NE(moves, moves_of(4));
}

TEST(InprocEndpointTest, NotesAreDatedByTheGivenClock) {
  ManualClock clock;
  clock.Advance(77);
  const auto endpoints = MakeInprocEndpoints(2, clock);
  endpoints[1]->Publish("busy");
  ASSERT_TRUE(endpoints[0]->Wait({}, 0).ok());
  EXPECT_EQ(endpoints[0]->NoteOf(1).received_ns, 77);
}

}  // namespace
}  // namespace crossover::net
