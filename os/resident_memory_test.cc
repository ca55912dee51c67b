#include "os/resident_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

namespace crossover::os {
namespace {

TEST(ResidentMemoryTest, GrowsByWhatIsWritten) {
  constexpr int64_t kBytes = 64 << 20;
  const int64_t before = ResidentBytes();
  EXPECT_GT(before, 0);
  const std::vector<char> written(kBytes, 'x');
  EXPECT_GE(ResidentBytes(), before + kBytes * 9 / 10);
  EXPECT_LT(ResidentBytes(), before + 2 * kBytes);
  EXPECT_EQ(written.back(), 'x');
}

TEST(ResidentMemoryTest, WhatIsAvailableIsMoreThanNothingAndNotMoreThanThereIs) {
  EXPECT_GT(AvailableBytes(), 1 << 20);
  EXPECT_LT(AvailableBytes(), int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE));
}

}  // namespace
}  // namespace crossover::os
