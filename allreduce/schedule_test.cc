#include "allreduce/schedule.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace crossover::allreduce {
namespace {

TEST(CutEvenlyTest, CoversTheLengthWithPiecesThatDifferByAtMostOne) {
  for (int pieces = 1; pieces <= 9; ++pieces) {
    for (const int64_t length : {0, 1, pieces - 1, pieces, pieces + 1, 1000}) {
      const std::vector<Segment> segments = CutEvenly(length, pieces);
      ASSERT_EQ(segments.size(), static_cast<size_t>(pieces));
      int64_t end = 0;
      for (const Segment& segment : segments) {
        EXPECT_EQ(segment.offset, end);
        EXPECT_GE(segment.length, length / pieces);
        EXPECT_LE(segment.length, (length + pieces - 1) / pieces);
        end += segment.length;
      }
      EXPECT_EQ(end, length);
    }
  }
}

TEST(CutEvenlyTest, LongerPiecesComeFirst) {
  const std::vector<Segment> segments = CutEvenly(8, 3);
  EXPECT_EQ(segments[0].length, 3);
  EXPECT_EQ(segments[1].length, 3);
  EXPECT_EQ(segments[2].length, 2);
}

TEST(CutEvenlyDeathTest, NothingCanBeCutIntoNoPieces) {
  EXPECT_DEATH(CutEvenly(1, 0), "at least one piece");
  EXPECT_DEATH(CutEvenly(-1, 1), "a length");
}

}  // namespace
}  // namespace crossover::allreduce
