#include "experiments/hosts/agent_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover::experiments {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(AgentMessage, ArrivesWholeHoweverTheStreamIsCut) {
  AgentMessage first;
  first.fields = {{"do", "put"}, {"path", "a b\"\n"}, {"offset", 7}, {"seconds", 0.5}};
  first.bytes = std::string("\0\n{}", 4);
  AgentMessage second;
  second.fields["arguments"] = {"x", "", "--y=z"};
  const std::string stream = EncodeMessage(first) + EncodeMessage(second);
  MessageReader reader;
  std::vector<AgentMessage> got;
  for (const char& byte : stream) {
    reader.Add({&byte, 1});
    const auto message = reader.Next();
    ASSERT_TRUE(message.ok());
    if (message->has_value()) got.push_back(**message);
  }
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].Text("path"), "a b\"\n");
  EXPECT_EQ(got[0].Number("offset"), 7);
  EXPECT_EQ(got[0].Real("seconds"), 0.5);
  EXPECT_EQ(got[0].bytes, first.bytes);
  EXPECT_THAT(got[1].Texts("arguments"), ElementsAre("x", "", "--y=z"));
}

TEST(AgentMessage, AFieldOfAnotherTypeIsAsIfItWereMissing) {
  AgentMessage message;
  message.fields = {{"a", 1}, {"b", "2"}, {"c", {1, "x"}}};
  EXPECT_EQ(message.Text("a"), "");
  EXPECT_EQ(message.Number("b"), 0);
  EXPECT_EQ(message.Number("none"), 0);
  EXPECT_THAT(message.Texts("c"), ElementsAre("x"));
  EXPECT_THAT(message.Texts("a"), ElementsAre());
}

TEST(AgentMessage, RefusesWhatIsNoMessage) {
  for (const char* stream : {"hello\n", "[1]\n", "{\"bytes\": -1}\n", "{\"bytes\": 99999999}\n"}) {
    MessageReader reader;
    reader.Add(stream);
    EXPECT_EQ(reader.Next().status().code(), absl::StatusCode::kDataLoss) << stream;
  }
  MessageReader endless;
  endless.Add(std::string(MessageReader::kLineBytesMax + 1, 'x'));
  EXPECT_FALSE(endless.Next().ok());
}

TEST(AgentMessage, AnswersCarryErrors) {
  EXPECT_TRUE(StatusOfAnswer(AnswerOf(absl::OkStatus())).ok());
  const absl::Status status = StatusOfAnswer(AnswerOf(absl::NotFoundError("no file x")));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("no file x"));
  AgentMessage odd;
  odd.fields["error"] = "why";
  EXPECT_EQ(StatusOfAnswer(odd).code(), absl::StatusCode::kUnknown);
}

}  // namespace
}  // namespace crossover::experiments
