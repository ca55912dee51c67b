#include "bench/comm/memory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover::bench {
namespace {

using testing::HasSubstr;

constexpr int64_t kGibibyte = 1 << 30;

TEST(CheckMemory, BuffersOfAllRanksOfAMachineCount) {
  TestPlan plan;
  plan.sizes = {4096, kGibibyte};
  EXPECT_TRUE(CheckMemory(plan, 2, 2, 4 * kGibibyte).ok());
  EXPECT_THAT(std::string(CheckMemory(plan, 3, 4, 4 * kGibibyte).message()),
              HasSubstr("--sizes=1G: 3 ranks on one machine need 6.4 GB for their buffers, and 4.3 "
                        "GB are free; fix: sizes of at most 682M"));
  plan.out_of_place = false;
  EXPECT_TRUE(CheckMemory(plan, 3, 4, 4 * kGibibyte).ok());
  EXPECT_FALSE(CheckMemory(plan, 5, 5, 4 * kGibibyte).ok());
}

TEST(CheckMemory, BlocksAreAnNthOnOneSide) {
  TestPlan plan;
  plan.op = allreduce::Kind::kAllGather;
  plan.sizes = {kGibibyte};
  EXPECT_TRUE(CheckMemory(plan, 4, 4, 5 * kGibibyte).ok());
  EXPECT_FALSE(CheckMemory(plan, 4, 4, 5 * kGibibyte - 1).ok());
}

TEST(CheckMemory, UnknownMemoryRefusesNothing) {
  TestPlan plan;
  plan.sizes = {kGibibyte};
  EXPECT_TRUE(CheckMemory(plan, 1000, 1000, 0).ok());
}

}  // namespace
}  // namespace crossover::bench
