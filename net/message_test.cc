#include "net/message.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "net/little_endian.h"

namespace crossover::net {
namespace {

const MessageTag kTag{.operation = 0x11000002, .sequence = 17, .total_bytes = 8192};

TEST(MessageHeaderTest, IsReadAsItWasWritten) {
  const auto bytes = EncodeMessageHeader({.farewell = false, .tag = kTag, .bytes = 4096});
  const auto header = DecodeMessageHeader(bytes);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_FALSE(header->farewell);
  EXPECT_EQ(header->tag.operation, 0x11000002u);
  EXPECT_EQ(header->tag.sequence, 17u);
  EXPECT_EQ(header->tag.total_bytes, 8192u);
  EXPECT_EQ(header->bytes, 4096u);
}

TEST(MessageHeaderTest, LiesAsDocumented) {
  const auto bytes = EncodeMessageHeader({.farewell = false, .tag = kTag, .bytes = 4096});
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), 4), "XRSM");
  EXPECT_EQ(GetLittleEndian<uint32_t>(bytes.data() + 4), 0x11000002u);
  EXPECT_EQ(std::to_integer<int>(bytes[4]), 2) << "the lowest byte comes first";
  EXPECT_EQ(GetLittleEndian<uint64_t>(bytes.data() + 8), 17u);
  EXPECT_EQ(GetLittleEndian<uint64_t>(bytes.data() + 16), 4096u);
  EXPECT_EQ(GetLittleEndian<uint64_t>(bytes.data() + 24), 8192u);
}

TEST(MessageHeaderTest, AFarewellIsToldApart) {
  const auto header =
      DecodeMessageHeader(EncodeMessageHeader({.farewell = true, .tag = {}, .bytes = 5}));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_TRUE(header->farewell);
  EXPECT_EQ(header->bytes, 5u);
}

TEST(MessageHeaderTest, WhatIsNoMessageIsRefused) {
  MessageHeaderBytes bytes = EncodeMessageHeader({.farewell = false, .tag = kTag, .bytes = 1});
  bytes[0] = std::byte{'G'};
  const auto header = DecodeMessageHeader(bytes);
  ASSERT_FALSE(header.ok());
  EXPECT_EQ(header.status().message(),
            "what came is no message: it starts with 0x4d535247, expected 0x4d535258");
}

TEST(MessageHeaderTest, AFarewellWithoutBoundIsRefused) {
  const auto longest = EncodeMessageHeader({.farewell = true, .tag = {}, .bytes = 1024});
  EXPECT_TRUE(DecodeMessageHeader(longest).ok());
  const auto header =
      DecodeMessageHeader(EncodeMessageHeader({.farewell = true, .tag = {}, .bytes = 1025}));
  ASSERT_FALSE(header.ok());
  EXPECT_EQ(header.status().message(), "a farewell of 1025 bytes came; at most 1024 are allowed");
}

TEST(CheckMessageTest, TheExpectedMessagePasses) {
  EXPECT_TRUE(CheckMessage(1, 0, {.farewell = false, .tag = kTag, .bytes = 4096}, kTag, 4096).ok());
}

TEST(CheckMessageTest, EveryDifferenceIsRefusedWithBothSides) {
  std::vector<MessageHeader> others(4, {.farewell = false, .tag = kTag, .bytes = 4096});
  others[0].bytes = 4000;
  others[1].tag.operation = 3;
  others[2].tag.sequence = 18;
  others[3].tag.total_bytes = 8188;
  const std::string theirs[] = {
      "rank 1 sent 4000 bytes (of 8192) of operation 0x11000002 sequence 17",
      "rank 1 sent 4096 bytes (of 8192) of operation 0x3 sequence 17",
      "rank 1 sent 4096 bytes (of 8192) of operation 0x11000002 sequence 18",
      "rank 1 sent 4096 bytes (of 8188) of operation 0x11000002 sequence 17"};
  for (size_t i = 0; i < others.size(); ++i) {
    const absl::Status status = CheckMessage(1, 0, others[i], kTag, 4096);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(status.message(), theirs[i] +
                                    "; this rank 0 expected 4096 bytes (of 8192) of "
                                    "operation 0x11000002 sequence 17");
  }
}

TEST(FarewellTextTest, NamesTheRankAndIsBounded) {
  EXPECT_EQ(FarewellText(2, "out of memory"), "rank 2 gave up: out of memory");
  EXPECT_EQ(FarewellText(2, std::string(5000, 'x')).size(), kFarewellBytesMax);
}

TEST(CheckExchangeArgumentsDeathTest, BugsOfTheCallerEndTheProcess) {
  const std::vector<SendOp> self = {{0, {}}};
  const std::vector<SendOp> foreign = {{3, {}}};
  const std::vector<ReceiveOp> twice = {{1, {}}, {1, {}}};
  EXPECT_DEATH(CheckExchangeArguments(0, 3, self, {}), "names other ranks");
  EXPECT_DEATH(CheckExchangeArguments(0, 3, foreign, {}), "names other ranks");
  EXPECT_DEATH(CheckExchangeArguments(0, 3, {}, twice), "names a peer once");
}

}  // namespace
}  // namespace crossover::net
