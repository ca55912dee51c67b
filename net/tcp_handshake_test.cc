#include "net/tcp_handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "net/identity.h"
#include "net/little_endian.h"

namespace crossover::net {
namespace {

using testing::HasSubstr;

const std::string kToken = "0123456789abcdef0123456789abcdef";

Identity Rank(int rank) {
  return {.job_fingerprint = 42, .token = kToken, .role = Role::kWorker, .rank = rank};
}

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST(GreetingTest, IsReadAsItWasWritten) {
  const auto greeting = DecodeGreeting(EncodeGreeting(MakeGreeting(Rank(2), 4, Channel::kControl)));
  ASSERT_TRUE(greeting.ok()) << greeting.status();
  EXPECT_EQ(greeting->status, 0u);
  EXPECT_EQ(greeting->rank, 2u);
  EXPECT_EQ(greeting->world_size, 4u);
  EXPECT_EQ(greeting->channel, Channel::kControl);
  EXPECT_EQ(greeting->fingerprint, 42u);
  EXPECT_EQ(greeting->text, kToken);
}

TEST(GreetingTest, ARefusalCarriesTheReasonAndNothingOfOurs) {
  const GreetingBytes bytes = EncodeGreeting(MakeRefusal(absl::PermissionDeniedError("wrong")));
  const auto refusal = DecodeGreeting(bytes);
  ASSERT_TRUE(refusal.ok()) << refusal.status();
  EXPECT_EQ(refusal->status, static_cast<uint32_t>(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(refusal->text, "wrong");
  EXPECT_EQ(refusal->fingerprint, 0u);
}

TEST(GreetingTest, ALongTextIsCut) {
  const auto refusal =
      DecodeGreeting(EncodeGreeting(MakeRefusal(absl::InternalError(std::string(999, 'x')))));
  ASSERT_TRUE(refusal.ok()) << refusal.status();
  EXPECT_EQ(refusal->text, std::string(kGreetingTextBytesMax, 'x'));
}

TEST(GreetingTest, AnotherMagicVersionChannelOrLengthIsRefused) {
  GreetingBytes magic = EncodeGreeting(MakeGreeting(Rank(0), 2, Channel::kData));
  magic[3] ^= std::byte{1};
  EXPECT_THAT(Text(DecodeGreeting(magic).status()), HasSubstr("no greeting"));

  GreetingBytes version = EncodeGreeting(MakeGreeting(Rank(0), 2, Channel::kData));
  PutLittleEndian(uint32_t{9}, version.data() + 4);
  EXPECT_THAT(Text(DecodeGreeting(version).status()), HasSubstr("speaks version 9"));

  GreetingBytes length = EncodeGreeting(MakeGreeting(Rank(0), 2, Channel::kData));
  PutLittleEndian(uint16_t{257}, length.data() + 20);
  EXPECT_THAT(Text(DecodeGreeting(length).status()), HasSubstr("a text of 257 bytes"));

  GreetingBytes channel = EncodeGreeting(MakeGreeting(Rank(0), 2, Channel::kData));
  PutLittleEndian(uint16_t{2}, channel.data() + 22);
  EXPECT_THAT(Text(DecodeGreeting(channel).status()), HasSubstr("the unknown channel 2"));
}

TEST(MayBeGreetingTest, EveryPrefixMayAndAnythingElseMayNot) {
  const GreetingBytes bytes = EncodeGreeting(MakeGreeting(Rank(0), 2, Channel::kData));
  for (size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_TRUE(MayBeGreeting(std::span(bytes).first(size)));
  }
  const std::string http = "GET / HTTP/1.1\r\n";
  EXPECT_FALSE(MayBeGreeting(std::as_bytes(std::span(http))));
  const std::string last_byte_differs = "XRSh";
  EXPECT_FALSE(MayBeGreeting(std::as_bytes(std::span(last_byte_differs))));
}

TEST(CheckGreetingTest, APeerOfTheSameJobPasses) {
  EXPECT_TRUE(CheckGreeting(Rank(0), 3, MakeGreeting(Rank(2), 3, Channel::kData), "X").ok());
}

TEST(CheckGreetingTest, StrangersAreRefused) {
  Identity stranger = Rank(1);
  stranger.token = "fedcba9876543210fedcba9876543210";
  const absl::Status token =
      CheckGreeting(Rank(0), 3, MakeGreeting(stranger, 3, Channel::kData), "X");
  EXPECT_FALSE(token.ok());
  EXPECT_THAT(Text(token), testing::Not(HasSubstr(kToken)));

  Identity other_job = Rank(1);
  other_job.job_fingerprint = 43;
  EXPECT_FALSE(CheckGreeting(Rank(0), 3, MakeGreeting(other_job, 3, Channel::kData), "X").ok());
}

TEST(CheckGreetingTest, AnotherWorldSizeIsNamed) {
  EXPECT_EQ(Text(CheckGreeting(Rank(0), 3, MakeGreeting(Rank(1), 4, Channel::kData), "the caller")),
            "the caller believes in 4 ranks, rank 0 in 3");
}

TEST(CheckGreetingTest, ARankOutOfRangeOrOursIsNamed) {
  EXPECT_EQ(Text(CheckGreeting(Rank(0), 3, MakeGreeting(Rank(3), 3, Channel::kData), "the caller")),
            "the caller says that it is rank 3; rank 0 of 3 expected another one of 0 to 2");
  EXPECT_FALSE(CheckGreeting(Rank(0), 3, MakeGreeting(Rank(0), 3, Channel::kData), "X").ok());
}

}  // namespace
}  // namespace crossover::net
