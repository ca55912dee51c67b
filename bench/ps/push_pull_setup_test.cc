#include "bench/ps/push_pull_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "core/job.h"

namespace crossover::bench {
namespace {

using testing::HasSubstr;

constexpr double kB = 100e6;  // bytes a second each way
constexpr int64_t kM = 1'000'000;

double Bound(int64_t workers, int64_t servers, bool colocated, int64_t workers_per_node = 1) {
  PushPullSetup setup;
  setup.network = "1gbit";
  setup.plan.workers = workers;
  setup.plan.servers = servers;
  setup.colocated = colocated;
  setup.workers_per_node = workers_per_node;
  return BoundUs(setup, kM, kB);
}

TEST(BoundUs, IsTheBusiestNodesTime) {
  EXPECT_DOUBLE_EQ(Bound(4, 4, false), 10'000);  // M/B
  EXPECT_DOUBLE_EQ(Bound(4, 8, false), 10'000);
  EXPECT_DOUBLE_EQ(Bound(4, 2, false), 20'000);  // N M / (S B)
  EXPECT_DOUBLE_EQ(Bound(4, 1, false), 40'000);
  EXPECT_DOUBLE_EQ(Bound(8, 8, false, 4), 40'000);  // four workers' on one link
  EXPECT_DOUBLE_EQ(Bound(4, 4, true), 15'000);      // 2(N-1)/N M/B
  EXPECT_DOUBLE_EQ(Bound(2, 2, true), 10'000);
  // One server among four workers: its node gets three pushes.
  EXPECT_DOUBLE_EQ(Bound(4, 1, true), 30'000);
  // Nodes without a server get the whole model.
  EXPECT_DOUBLE_EQ(Bound(3, 2, true), 15'000);
}

TEST(BoundUs, OnLoopbackIsTheMachines) {
  PushPullSetup setup;
  EXPECT_DOUBLE_EQ(BoundUs(setup, kM, kB), 10'000);  // M/B between two processes
  setup.plan.workers = 3;
  setup.plan.servers = 2;
  EXPECT_DOUBLE_EQ(BoundUs(setup, kM, kB), 12'000);  // 6 M bytes of five processes' rate
}

TEST(BoundUs, OfHalvesIsHalf) {
  PushPullFlags flags;
  flags.plan.settings = {"ps.wire=fp16"};
  const auto setup = ReadSetup(flags);
  ASSERT_TRUE(setup.ok()) << setup.status();
  EXPECT_DOUBLE_EQ(BoundUs(*setup, kM, kB), 5'000);
}

TEST(BoundUs, IsNothingWithoutARate) { EXPECT_EQ(BoundUs(PushPullSetup(), kM, 0), 0); }

TEST(ReadSetup, MakesAJobThatIsValid) {
  PushPullFlags flags;
  flags.plan.workers = 3;
  flags.plan.part_bytes = 4096;
  flags.plan.settings = {"ps.credits=2"};
  const auto setup = ReadSetup(flags);
  ASSERT_TRUE(setup.ok()) << setup.status();
  EXPECT_EQ(setup->sizes.front(), 4 << 10);
  EXPECT_EQ(setup->sizes.back(), 64 << 20);
  const auto job = JobFor(setup->plan);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_TRUE(ValidateJob(*job).ok());
  EXPECT_EQ(job->workers(), 3);
  EXPECT_EQ(job->ps().part_bytes(), 4096);
  EXPECT_EQ(job->ps().credits(), 2);
  EXPECT_EQ(job->learning_rate().base(), 1);
}

TEST(ReadSetup, RefusesWithTheFix) {
  using Change = std::function<void(PushPullFlags&)>;
  const std::pair<Change, std::string> cases[] = {
      {[](auto& flags) { flags.sizes = "4X"; }, "--sizes: "},
      {[](auto& flags) { flags.sizes = "6"; }, "--sizes: 6 bytes; allowed: multiples of 4"},
      {[](auto& flags) { flags.placement = "near"; },
       "--placement=near: allowed: dedicated, colocated"},
      {[](auto& flags) { flags.placement = "colocated"; }, "fix: add --network=1gbit"},
      {[](auto& flags) { flags.workers_per_node = 2; }, "fix: add --network=1gbit"},
      {[](auto& flags) {
         flags.network = "1gbit";
         flags.placement = "colocated";
       },
       "--placement=colocated: with one worker nothing would cross a link; fix: --workers=2"},
      {[](auto& flags) {
         flags.network = "1gbit";
         flags.plan.workers = 3;
         flags.workers_per_node = 2;
       },
       "--workers_per_node=2: allowed: a divisor of the 3 workers"},
      {[](auto& flags) { flags.beside = "tree"; }, "--beside=tree: allowed: ring"},
      {[](auto& flags) { flags.beside = "ring"; }, "fix: --workers=2 or more"},
      {[](auto& flags) { flags.plan.part_bytes = 6; }, "--part_bytes=6: allowed: a multiple of 4"},
      {[](auto& flags) { flags.plan.settings = {"workers=3"}; },
       "--set=workers=3: allowed: a field of the job's ps"},
      {[](auto& flags) { flags.plan.settings = {"ps.credit=3"}; }, "ps.credits"}};
  for (const auto& [change, expected] : cases) {
    PushPullFlags flags;
    change(flags);
    const auto setup = ReadSetup(flags);
    ASSERT_FALSE(setup.ok()) << expected;
    EXPECT_THAT(std::string(setup.status().message()), HasSubstr(expected));
  }
}

TEST(BucketsOf, CoverTheModelWithoutGaps) {
  PushPullPlan plan;
  plan.bytes = 40;
  plan.buckets = 3;
  const BucketPlan buckets = BucketsOf(plan);
  ASSERT_EQ(buckets.buckets.size(), 3);
  int64_t end = 0;
  for (const Bucket& bucket : buckets.buckets) {
    EXPECT_EQ(bucket.offset, end);
    EXPECT_GE(bucket.length, 3);
    EXPECT_LE(bucket.length, 4);
    end += bucket.length;
  }
  EXPECT_EQ(end, 10);
}

}  // namespace
}  // namespace crossover::bench
