#include "net/grpc_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "net/endpoint_test_support.h"
#include "net/tcp_handshake.h"
#include "net/tcp_test_support.h"

namespace crossover::net {
namespace {

using testing::HasSubstr;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

grpc::Slice SliceOf(std::span<const std::byte> bytes) { return {bytes.data(), bytes.size()}; }

grpc::ByteBuffer MessageOf(std::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return grpc::ByteBuffer(&slice, 1);
}

std::string TextOf(std::deque<grpc::Slice> slices) {
  std::string text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

// Two links that have greeted each other.
class GrpcLinkTest : public testing::Test {
 protected:
  GrpcLinkTest() {
    ours_.QueueGreeting(MakeGreeting(TestIdentity(0), 2, Channel::kData));
    theirs_.QueueGreeting(MakeGreeting(TestIdentity(1), 2, Channel::kData));
    Deliver();
  }
  // Everything that both have to say; how many messages it was.
  int Deliver() {
    int messages = 0;
    grpc::ByteBuffer message;
    while (true) {
      GrpcLink* to = nullptr;
      if (ours_.NextMessage(message)) {
        to = &theirs_;
      } else if (theirs_.NextMessage(message)) {
        to = &ours_;
      } else {
        return messages;
      }
      EXPECT_EQ(to->Accept(message), absl::OkStatus());
      ++messages;
    }
  }
  GrpcLink ours_;
  GrpcLink theirs_;
};

TEST_F(GrpcLinkTest, GreetingsCross) {
  ASSERT_TRUE(theirs_.greeting().has_value());
  EXPECT_EQ(theirs_.greeting()->rank, 0u);
  EXPECT_EQ(ours_.greeting()->rank, 1u);
  EXPECT_EQ(ours_.greeting()->text, TestIdentity(1).token);
}

TEST_F(GrpcLinkTest, DataOfEverySizeCrossInOrderInFewMessages) {
  const Bytes data = Pattern(200'000, 3);
  std::string expected;
  size_t at = 0;
  for (const size_t size : {1, 50, 4095, 4096, 4097, 100'000}) {
    ours_.QueueData(SliceOf(std::span(data).subspan(at, size)));
    at += size;
  }
  EXPECT_EQ(Deliver(), 1);
  EXPECT_TRUE(theirs_.has_data());
  const std::string came = TextOf(theirs_.TakeData());
  EXPECT_TRUE(SameBytes(std::as_bytes(std::span(came)), std::span(data).first(at)));
  EXPECT_FALSE(theirs_.has_data());
}

TEST_F(GrpcLinkTest, TheWindowIsFullUntilWhatCameIsTaken) {
  const Bytes data = Pattern(kGrpcMessageBytesMax, 3);
  while (ours_.room_bytes() > 0) ours_.QueueData(SliceOf(data));
  EXPECT_EQ(Deliver(), static_cast<int>(kGrpcWindowBytes / kGrpcMessageBytesMax));
  EXPECT_EQ(TextOf(theirs_.TakeData()).size(), kGrpcWindowBytes);
  theirs_.QueueCredit(1000);
  theirs_.QueueCredit(10);
  EXPECT_EQ(Deliver(), 1);
  EXPECT_EQ(ours_.room_bytes(), 1010u);
}

TEST_F(GrpcLinkTest, OfNotesTheLatestCounts) {
  ours_.QueueNote("first");
  ours_.QueueNote("second");
  EXPECT_EQ(Deliver(), 1);
  EXPECT_EQ(theirs_.TakeNote(), "second");
  EXPECT_EQ(theirs_.TakeNote(), std::nullopt);
}

TEST_F(GrpcLinkTest, GoodbyeComesAfterTheDataAndIsReceipted) {
  ours_.QueueEnd(ControlKind::kGoodbye, "");
  EXPECT_FALSE(ours_.end_has_arrived());
  Deliver();
  EXPECT_TRUE(theirs_.has_left());
  EXPECT_TRUE(ours_.end_has_arrived());
  theirs_.QueueData(SliceOf(Pattern(10, 1)));
  theirs_.QueueEnd(ControlKind::kGoodbye, "");
  theirs_.QueueData(SliceOf(Pattern(10, 1)));  // too late
  theirs_.QueueNote("too late");
  Deliver();
  EXPECT_EQ(TextOf(ours_.TakeData()).size(), 10u);
  EXPECT_EQ(ours_.TakeNote(), std::nullopt);
  EXPECT_TRUE(ours_.has_left());
}

TEST_F(GrpcLinkTest, LastWordsComeInsteadOfTheData) {
  ours_.QueueData(SliceOf(Pattern(10, 1)));
  ours_.QueueEnd(ControlKind::kLastWords, "no disk");
  ours_.QueueEnd(ControlKind::kGoodbye, "");  // too late
  Deliver();
  EXPECT_FALSE(theirs_.has_data());
  EXPECT_EQ(theirs_.last_words(), "no disk");
  EXPECT_FALSE(theirs_.has_left());
  EXPECT_TRUE(ours_.end_has_arrived());
}

TEST_F(GrpcLinkTest, WhatTheProtocolDoesNotAllowIsRefused) {
  const auto refusal = [](GrpcLink& link, std::string_view bytes) {
    const absl::Status status = link.Accept(MessageOf(bytes));
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    return Text(status);
  };
  EXPECT_THAT(refusal(ours_, ""), HasSubstr("an empty message"));
  EXPECT_THAT(refusal(ours_, "\x09"), HasSubstr("the unknown kind 9"));
  EXPECT_THAT(refusal(ours_, "\x01"), HasSubstr("a second greeting"));
  EXPECT_THAT(refusal(ours_, std::string_view("\x03\x01\x00\x00\x00", 5)),
              HasSubstr("a credit for 1 bytes came, 0 are under way"));
  EXPECT_THAT(refusal(ours_, "\x03\x01"), HasSubstr("a credit for 0 bytes"));
  EXPECT_THAT(refusal(ours_, "\x04XY"), HasSubstr("not whole"));
  EXPECT_THAT(refusal(ours_, "\x04" + std::string(4000, 'x')), HasSubstr("4001 bytes came"));
  EXPECT_THAT(refusal(ours_, "\x02" + std::string(kGrpcWindowBytes + 1, 'x')),
              HasSubstr("1048577 bytes came, only 1048576 were allowed"));
  GrpcLink fresh;
  EXPECT_THAT(refusal(fresh, "\x02x"), HasSubstr("before the greeting"));
  EXPECT_THAT(refusal(fresh, "\x01x"), HasSubstr("a greeting of 1 bytes"));
}

}  // namespace
}  // namespace crossover::net
