#include "core/shard_plan.h"

#include <algorithm>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

BucketPlan BucketsOf(const std::vector<int64_t>& lengths) {
  BucketPlan plan;
  int64_t offset = 0;
  for (const int64_t length : lengths) {
    plan.buckets.push_back({.id = static_cast<int>(plan.buckets.size()),
                            .offset = offset,
                            .length = length,
                            .first_parameter = 0,
                            .parameter_count = 1});
    offset += length;
  }
  return plan;
}

// What the header promises of every plan.
void ExpectConsistent(const ShardPlan& plan, const BucketPlan& buckets, int servers,
                      int64_t part_bytes) {
  int64_t offset = 0;
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    const Part& part = plan.parts[i];
    EXPECT_EQ(part.id, static_cast<int>(i));
    EXPECT_EQ(part.offset, offset);
    EXPECT_GT(part.length, 0);
    EXPECT_LE(part.length * 4, part_bytes);
    const Bucket& bucket = buckets.buckets[part.bucket];
    EXPECT_GE(part.offset, bucket.offset);
    EXPECT_LE(part.offset + part.length, bucket.offset + bucket.length);
    offset += part.length;
  }
  EXPECT_EQ(offset, buckets.buckets.empty()
                        ? 0
                        : buckets.buckets.back().offset + buckets.buckets.back().length);

  ASSERT_EQ(static_cast<int>(plan.server_parts.size()), servers);
  ASSERT_EQ(static_cast<int>(plan.server_length.size()), servers);
  for (int server = 0; server < servers; ++server) {
    int64_t shard_offset = 0;
    for (const int id : plan.server_parts[server]) {
      EXPECT_EQ(plan.parts[id].server, server);
      EXPECT_EQ(plan.parts[id].shard_offset, shard_offset);
      shard_offset += plan.parts[id].length;
    }
    EXPECT_EQ(shard_offset, plan.server_length[server]);
  }

  ASSERT_EQ(plan.bucket_parts.size(), buckets.buckets.size());
  for (const Bucket& bucket : buckets.buckets) {
    std::vector<int64_t> by_server(servers, 0);
    int last = -1;
    for (const int id : plan.bucket_parts[bucket.id]) {
      EXPECT_EQ(plan.parts[id].bucket, bucket.id);
      EXPECT_GT(id, last);
      last = id;
      by_server[plan.parts[id].server] += plan.parts[id].length;
    }
    const auto [least, most] = std::minmax_element(by_server.begin(), by_server.end());
    EXPECT_LE(*most - *least, 1) << "bucket " << bucket.id;
  }
}

TEST(ShardPlanTest, EveryBucketIsCutEvenlyAndTravelsInParts) {
  const BucketPlan buckets = BucketsOf({7, 4});
  const ShardPlan plan = MakeShardPlan(buckets, 2, 12);
  ExpectConsistent(plan, buckets, 2, 12);
  std::vector<int64_t> lengths;
  for (const Part& part : plan.parts) lengths.push_back(part.length);
  EXPECT_THAT(lengths, ElementsAre(3, 1, 3, 2, 2));
  EXPECT_THAT(plan.server_parts[0], ElementsAre(0, 1, 3));
  EXPECT_THAT(plan.server_parts[1], ElementsAre(2, 4));
  EXPECT_THAT(plan.bucket_parts[0], ElementsAre(0, 1, 2));
  EXPECT_THAT(plan.bucket_parts[1], ElementsAre(3, 4));
  EXPECT_THAT(plan.server_length, ElementsAre(6, 5));
  EXPECT_EQ(plan.parts[3].shard_offset, 4);
}

TEST(ShardPlanTest, HoldsForManyShapes) {
  const std::vector<std::vector<int64_t>> shapes = {{},        {0},           {1},           {2, 1},
                                                    {5, 0, 3}, {17, 1000, 3}, {16384, 16385}};
  for (const auto& shape : shapes) {
    const BucketPlan buckets = BucketsOf(shape);
    for (const int servers : {1, 2, 3, 7}) {
      for (const int64_t part_bytes : {4, 8, 1024, 65536}) {
        ExpectConsistent(MakeShardPlan(buckets, servers, part_bytes), buckets, servers, part_bytes);
      }
    }
  }
}

TEST(ShardPlanTest, MoreServersThanValuesLeavesSomeWithoutParts) {
  const ShardPlan plan = MakeShardPlan(BucketsOf({2}), 3, 4);
  EXPECT_THAT(plan.server_length, ElementsAre(1, 1, 0));
  EXPECT_THAT(plan.server_parts[2], IsEmpty());
  EXPECT_DOUBLE_EQ(Imbalance(plan), 1.5);
}

TEST(ShardPlanTest, OneServerOwnsItAll) {
  const ShardPlan plan = MakeShardPlan(BucketsOf({3, 5}), 1, 65536);
  ASSERT_EQ(plan.parts.size(), 2u);
  EXPECT_EQ(plan.parts[1].shard_offset, 3);
  EXPECT_THAT(plan.server_length, ElementsAre(8));
}

TEST(ShardPlanTest, ImbalanceIsTheLargestOverTheMean) {
  EXPECT_DOUBLE_EQ(Imbalance(MakeShardPlan(BucketsOf({8}), 2, 4)), 1);
  EXPECT_DOUBLE_EQ(Imbalance(MakeShardPlan(BucketsOf({3}), 2, 4)), 2 / 1.5);
  EXPECT_DOUBLE_EQ(Imbalance(MakeShardPlan(BucketsOf({}), 2, 4)), 1);
}

// Whole tensors, dealt out, once left servers with .69, 93.7, 15.5 and 4.1 million of these values.
TEST(ShardPlanTest, ServersAreWithinFivePercentHoweverUnevenTheBuckets) {
  for (const int servers : {2, 3, 4, 8}) {
    const ShardPlan plan =
        MakeShardPlan(BucketsOf({690'000, 93'700'000, 15'500'000, 4'100'000}), servers, 65536);
    EXPECT_LT(Imbalance(plan), 1.05) << servers;
    // Of many small buckets too, each of which leaves a value over.
    EXPECT_LT(Imbalance(MakeShardPlan(BucketsOf(std::vector<int64_t>(1000, 257)), servers, 65536)),
              1.05)
        << servers;
  }
}

TEST(ShardPlanDeathTest, RefusesWhatCannotBeCut) {
  EXPECT_DEATH(MakeShardPlan(BucketsOf({3}), 0, 4), "someone owns the values");
  EXPECT_DEATH(MakeShardPlan(BucketsOf({3}), 1, 0), "a part holds whole values");
  EXPECT_DEATH(MakeShardPlan(BucketsOf({3}), 1, 6), "a part holds whole values");
}

}  // namespace
}  // namespace crossover
