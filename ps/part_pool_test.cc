#include "ps/part_pool.h"

#include <gtest/gtest.h>

namespace crossover::ps {
namespace {

TEST(PartPool, UsesABufferAgainAndKeepsNoMoreThanWasNeededAtOnce) {
  const auto pool = PartPool::Make(10);
  PartPool::Buffer first = pool->Take(10);
  PartPool::Buffer second = pool->Take(4);
  EXPECT_EQ(second.values().size(), 4u);
  EXPECT_EQ(pool->held_bytes_max(), 56);
  const float* const memory = first.values().data();
  first.Return();
  EXPECT_TRUE(first.empty());
  const PartPool::Buffer third = pool->Take(7);
  EXPECT_EQ(third.values().data(), memory);
  EXPECT_EQ(pool->held_bytes_max(), 56);
}

TEST(PartPool, CountsWhatIsHeldElsewhere) {
  const auto pool = PartPool::Make(10);
  const PartPool::Buffer buffer = pool->Take(10);
  pool->Count(100);
  pool->Uncount(100);
  pool->Count(50);
  EXPECT_EQ(pool->held_bytes_max(), 140);
}

TEST(PartPool, ABufferOutlivesEverybodyElsesPointer) {
  PartPool::Buffer buffer;
  EXPECT_TRUE(buffer.empty());
  buffer = PartPool::Make(3)->Take(3);
  PartPool::Buffer moved = std::move(buffer);
  moved.values()[2] = 1;
  EXPECT_EQ(moved.values()[2], 1);
}

TEST(PartPoolDeathTest, APartIsNotLargerThanTheLargest) {
  const auto pool = PartPool::Make(3);
  EXPECT_DEATH(pool->Take(4), "it fits a buffer");
}

}  // namespace
}  // namespace crossover::ps
