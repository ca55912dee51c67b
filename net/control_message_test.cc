#include "net/control_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>
#include <vector>

namespace crossover::net {
namespace {

using testing::HasSubstr;

absl::StatusOr<std::optional<ControlMessage>> Decode(std::string_view bytes, size_t& used) {
  return DecodeControlMessage(std::as_bytes(std::span(bytes)), used);
}
std::string Refusal(std::string_view bytes) {
  size_t used = 0;
  return std::string(Decode(bytes, used).status().message());
}

TEST(ControlMessageTest, IsReadAsItWasWrittenAndOnlyWhenWhole) {
  const std::string first = EncodeControlMessage(ControlKind::kNote, "step 3");
  const std::string both = first + EncodeControlMessage(ControlKind::kGoodbye, "");
  for (size_t size = 0; size < first.size(); ++size) {
    size_t used = 1;
    const auto message = Decode(std::string_view(first).substr(0, size), used);
    ASSERT_TRUE(message.ok()) << message.status();
    EXPECT_FALSE(message->has_value());
    EXPECT_EQ(used, 0u);
  }
  size_t used = 0;
  const auto note = Decode(both, used);
  ASSERT_TRUE(note.ok() && note->has_value()) << note.status();
  EXPECT_EQ((*note)->kind, ControlKind::kNote);
  EXPECT_EQ((*note)->text, "step 3");
  EXPECT_EQ(used, first.size());
  const auto goodbye = Decode(std::string_view(both).substr(used), used);
  ASSERT_TRUE(goodbye.ok() && goodbye->has_value()) << goodbye.status();
  EXPECT_EQ((*goodbye)->kind, ControlKind::kGoodbye);
  EXPECT_EQ((*goodbye)->text, "");
}

TEST(ControlMessageTest, TextsAreCutAndMadeFitToBeShown) {
  const std::string text(5000, '\n');
  for (const auto& [kind, bytes_max] : {std::pair(ControlKind::kNote, kNoteBytesMax),
                                        std::pair(ControlKind::kLastWords, kLastWordsBytesMax),
                                        std::pair(ControlKind::kGoodbye, size_t{0})}) {
    size_t used = 0;
    const auto message = Decode(EncodeControlMessage(kind, text), used);
    ASSERT_TRUE(message.ok() && message->has_value()) << message.status();
    EXPECT_EQ((*message)->text, std::string(bytes_max, '?'));
  }
}

TEST(ControlMessageTest, NonsenseIsRefusedByItsHeader) {
  EXPECT_THAT(Refusal("GET / HTTP/1.1\r\n"), HasSubstr("no control message"));
  std::string kind = EncodeControlMessage(ControlKind::kNote, "");
  kind[4] = 9;
  EXPECT_THAT(Refusal(kind), HasSubstr("unknown kind 9"));
  std::string goodbye = EncodeControlMessage(ControlKind::kGoodbye, "");
  goodbye[6] = 1;
  EXPECT_THAT(Refusal(goodbye), HasSubstr("1 bytes of text came; at most 0 are allowed"));
  std::string words = EncodeControlMessage(ControlKind::kLastWords, "");
  words[7] = 5;
  EXPECT_THAT(Refusal(words), HasSubstr("1280 bytes of text came; at most 1024 are allowed"));
}

TEST(ControlMessageTest, RandomChangesNeverReadPastTheEnd) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = EncodeControlMessage(ControlKind::kLastWords, std::string(i % 64, 'x'));
    text[random() % text.size()] = static_cast<char>(random());
    text.resize(random() % (text.size() + 1));
    // Exactly as many bytes as there are, for the address sanitizer.
    const std::vector<char> bytes(text.begin(), text.end());
    size_t used = 0;
    const auto message = Decode({bytes.data(), bytes.size()}, used);
    EXPECT_LE(used, bytes.size());
    EXPECT_EQ(used > 0, message.ok() && message->has_value());
  }
}

}  // namespace
}  // namespace crossover::net
