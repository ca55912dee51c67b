#include "os/resident_memory.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace crossover::os
