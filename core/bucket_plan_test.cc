#include "core/bucket_plan.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kMiB = 1 << 20;

FlatLayout LayoutOf(const std::vector<int64_t>& lengths) {
  FlatLayout layout;
  for (const int64_t length : lengths) {
    AppendParameter(layout, "p" + std::to_string(layout.parameters.size()), {length});
  }
  return layout;
}

std::vector<int64_t> Lengths(const BucketPlan& plan) {
  std::vector<int64_t> lengths;
  for (const Bucket& bucket : plan.buckets) lengths.push_back(bucket.length);
  return lengths;
}

// Buckets and parameters cover each other without gaps.
void ExpectConsistent(const BucketPlan& plan, const FlatLayout& layout) {
  int64_t offset = 0;
  int parameter = 0;
  for (size_t id = 0; id < plan.buckets.size(); ++id) {
    const Bucket& bucket = plan.buckets[id];
    EXPECT_EQ(bucket.id, static_cast<int>(id));
    EXPECT_EQ(bucket.offset, offset);
    EXPECT_EQ(bucket.first_parameter, parameter);
    int64_t length = 0;
    for (int i = 0; i < bucket.parameter_count; ++i, ++parameter) {
      EXPECT_EQ(plan.parameter_bucket[parameter], bucket.id);
      length += layout.parameters[parameter].length;
    }
    EXPECT_EQ(bucket.length, length);
    offset += bucket.length;
  }
  EXPECT_EQ(offset, layout.length);
  EXPECT_EQ(parameter, static_cast<int>(layout.parameters.size()));
  EXPECT_EQ(plan.parameter_bucket.size(), layout.parameters.size());
}

TEST(BucketPlanTest, DdpsDefaultSizes) {
  // In MiB: the first bucket is closed at 1, the others at 25.
  const int64_t mib = kMiB / 4;
  const FlatLayout layout = LayoutOf(
      {mib / 2, mib / 4, mib / 4, 10 * mib, 14 * mib, mib - 1, 1, 24 * mib, 2 * mib, 3 * mib});
  const BucketPlan plan = MakeBucketPlan(layout, kMiB, 25 * kMiB);
  EXPECT_THAT(Lengths(plan), ElementsAre(mib, 25 * mib, 26 * mib, 3 * mib));
  EXPECT_THAT(plan.parameter_bucket, ElementsAre(0, 0, 0, 1, 1, 1, 1, 2, 2, 3));
  ExpectConsistent(plan, layout);
}

TEST(BucketPlanTest, AParameterBiggerThanABucketIsNotCut) {
  const FlatLayout layout = LayoutOf({10, 1'000'000, 10, 20'000'000, 10});
  const BucketPlan plan = MakeBucketPlan(layout, kMiB, 25 * kMiB);
  EXPECT_THAT(Lengths(plan), ElementsAre(1'000'010, 20'000'010, 10));
  ExpectConsistent(plan, layout);
}

TEST(BucketPlanTest, OneBucketAParameterWhenSizesAreTiny) {
  const FlatLayout layout = LayoutOf({3, 1, 2});
  const BucketPlan plan = MakeBucketPlan(layout, 1, 1);
  EXPECT_THAT(Lengths(plan), ElementsAre(3, 1, 2));
  ExpectConsistent(plan, layout);
}

TEST(BucketPlanTest, OneBucketForAllWhenTheFirstIsLarge) {
  const FlatLayout layout = LayoutOf({3, 1, 2});
  const BucketPlan plan = MakeBucketPlan(layout, 1000, 1);
  EXPECT_THAT(Lengths(plan), ElementsAre(6));
  ExpectConsistent(plan, layout);
}

TEST(BucketPlanTest, SizeIsReachedToTheByte) {
  const FlatLayout layout = LayoutOf({2, 2, 2});
  EXPECT_THAT(Lengths(MakeBucketPlan(layout, 16, 8)), ElementsAre(4, 2));
  EXPECT_THAT(Lengths(MakeBucketPlan(layout, 17, 8)), ElementsAre(6));
  EXPECT_THAT(Lengths(MakeBucketPlan(layout, 8, 9)), ElementsAre(2, 4));
}

TEST(BucketPlanTest, AnEmptyLayoutHasNoBuckets) {
  const BucketPlan plan = MakeBucketPlan(FlatLayout{}, kMiB, kMiB);
  EXPECT_THAT(plan.buckets, IsEmpty());
  EXPECT_THAT(plan.parameter_bucket, IsEmpty());
}

TEST(BucketPlanTest, EmptyParametersMakeNoEmptyBuckets) {
  const FlatLayout layout = LayoutOf({0, 4, 0, 0, 4, 0, 0});
  const BucketPlan plan = MakeBucketPlan(layout, 16, 16);
  EXPECT_THAT(Lengths(plan), ElementsAre(4, 4));
  EXPECT_THAT(plan.parameter_bucket, ElementsAre(0, 0, 1, 1, 1, 1, 1));
  ExpectConsistent(plan, layout);
}

TEST(BucketPlanTest, OnlyEmptyParametersShareOneEmptyBucket) {
  const FlatLayout layout = LayoutOf({0, 0});
  const BucketPlan plan = MakeBucketPlan(layout, 4, 4);
  EXPECT_THAT(Lengths(plan), ElementsAre(0));
  ExpectConsistent(plan, layout);
}

TEST(BucketPlanDeathTest, RefusesSizesThatAreNotPositive) {
  EXPECT_DEATH(MakeBucketPlan(FlatLayout{}, 0, 1), "bucket sizes are positive");
  EXPECT_DEATH(MakeBucketPlan(FlatLayout{}, 1, 0), "bucket sizes are positive");
}

TEST(BucketTrackerTest, TellsTheParameterThatCompletesABucket) {
  const BucketPlan plan = MakeBucketPlan(LayoutOf({1, 1, 1}), 8, 4);
  BucketTracker tracker(plan);
  for (int step = 0; step < 2; ++step) {
    tracker.Reset();
    EXPECT_EQ(tracker.ParameterReady(1), -1);
    EXPECT_EQ(tracker.ParameterReady(2), 1);
    EXPECT_EQ(tracker.ParameterReady(0), 0);
    EXPECT_THAT(tracker.CompleteRest(), IsEmpty());
  }
}

TEST(BucketTrackerTest, CompletesWhatHadNoGradient) {
  const BucketPlan plan = MakeBucketPlan(LayoutOf({1, 1, 1, 1}), 8, 4);
  BucketTracker tracker(plan);
  EXPECT_EQ(tracker.ParameterReady(2), 1);
  EXPECT_EQ(tracker.ParameterReady(0), -1);
  EXPECT_THAT(tracker.CompleteRest(), ElementsAre(0, 2));
  EXPECT_THAT(tracker.CompleteRest(), IsEmpty());
  tracker.Reset();
  EXPECT_THAT(tracker.CompleteRest(), ElementsAre(0, 1, 2));
}

TEST(BucketTrackerDeathTest, AGradientComesOnceAStep) {
  const BucketPlan plan = MakeBucketPlan(LayoutOf({1, 1}), 8, 4);
  BucketTracker tracker(plan);
  tracker.ParameterReady(0);
  EXPECT_DEATH(tracker.ParameterReady(0), "once a step");
  EXPECT_DEATH(tracker.ParameterReady(2), "one of the plan's");
  tracker.CompleteRest();
  EXPECT_DEATH(tracker.ParameterReady(1), "once a step");
}

}  // namespace
}  // namespace crossover
