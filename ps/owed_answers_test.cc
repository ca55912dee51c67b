#include "ps/owed_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover::ps {
namespace {

using ::testing::HasSubstr;

FrameHeader Frame(FrameKind kind, uint32_t part, int64_t step) {
  return {.kind = kind, .part = part, .step = step};
}

TEST(OwedAnswers, AcksOfServersAreCountedEach) {
  OwedAnswers owed(2, 2);
  const FrameHeader ack = {.kind = FrameKind::kAck};
  EXPECT_FALSE(owed.any_acks_missing());
  owed.ExpectAcks(2);
  EXPECT_TRUE(owed.TakeAck(0, ack).ok());
  EXPECT_TRUE(owed.acks_missing(0));
  EXPECT_TRUE(owed.TakeAck(0, ack).ok());
  EXPECT_FALSE(owed.acks_missing(0));
  EXPECT_TRUE(owed.any_acks_missing());
  EXPECT_THAT(owed.TakeAck(0, ack).message(),
              HasSubstr("the server sent an ack that nothing asked for"));
  EXPECT_TRUE(owed.acks_missing(1));
}

TEST(OwedAnswers, AnInitialisationIsAnsweredByAnAckOfItsPart) {
  OwedAnswers owed(2, 1);
  owed.Expect(1, Owed::kInitialize);
  EXPECT_EQ(owed.AnyPart(), 1);
  EXPECT_THAT(owed.TakeAck(0, Frame(FrameKind::kAck, 0, -1)).message(),
              HasSubstr("an ack for part 0 that nothing asked for"));
  EXPECT_FALSE(owed.TakeReply(Frame(FrameKind::kReply, 1, -1), 0).ok());
  EXPECT_TRUE(owed.TakeAck(0, Frame(FrameKind::kAck, 1, -1)).ok());
  EXPECT_EQ(owed.AnyPart(), std::nullopt);
}

TEST(OwedAnswers, APullIsAnsweredByAReplyWithoutAStep) {
  OwedAnswers owed(1, 1);
  owed.Expect(0, Owed::kPull);
  EXPECT_FALSE(owed.TakeReply(Frame(FrameKind::kReply, 0, 3), 3).ok());
  EXPECT_EQ(owed.TakeReply(Frame(FrameKind::kReply, 0, -1), 3).value(), Owed::kPull);
  EXPECT_FALSE(owed.TakeReply(Frame(FrameKind::kReply, 0, -1), 3).ok());
}

TEST(OwedAnswers, APushIsAnsweredByAReplyOfItsStep) {
  OwedAnswers owed(1, 1);
  owed.Expect(0, Owed::kPush);
  EXPECT_THAT(owed.TakeReply(Frame(FrameKind::kReply, 0, 2), 3).status().message(),
              HasSubstr("a reply for part 0 and step 2 that nothing asked for"));
  EXPECT_EQ(owed.TakeReply(Frame(FrameKind::kReply, 0, 3), 3).value(), Owed::kPush);
}

TEST(OwedAnswers, SquaresComeBeforeTheNormAndTheReplyAfter) {
  OwedAnswers owed(1, 1);
  owed.Expect(0, Owed::kPush);
  EXPECT_FALSE(owed.TakeSquares(Frame(FrameKind::kSquares, 0, 2), 3).ok());
  EXPECT_TRUE(owed.TakeSquares(Frame(FrameKind::kSquares, 0, 3), 3).ok());
  EXPECT_THAT(owed.TakeSquares(Frame(FrameKind::kSquares, 0, 3), 3).message(),
              HasSubstr("squares for part 0 and step 3 that nothing asked for"));
  EXPECT_FALSE(owed.TakeReply(Frame(FrameKind::kReply, 0, 3), 3).ok());
  owed.Expect(0, Owed::kNorm);
  EXPECT_FALSE(owed.TakeSquares(Frame(FrameKind::kSquares, 0, 3), 3).ok());
  EXPECT_EQ(owed.TakeReply(Frame(FrameKind::kReply, 0, 3), 3).value(), Owed::kNorm);
}

}  // namespace
}  // namespace crossover::ps
