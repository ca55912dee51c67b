#include "worker/data/batch_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace crossover::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// `size` images of one pixel with the sample's index as label.
Dataset IndexedDataset(int size) {
  Dataset dataset;
  dataset.shape = {.channels = 1, .height = 1, .width = 1, .classes = 256};
  for (int i = 0; i < size; ++i) {
    dataset.labels.push_back(static_cast<uint8_t>(i));
    dataset.pixels.push_back(static_cast<uint8_t>(i));
  }
  dataset.normalization = {.mean = {0}, .standard_deviation = {1}};
  return dataset;
}

// A rotation by seed + epoch: easy to work out by hand.
std::vector<int64_t> Rotation(int64_t n, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + (seed + epoch) % n, order.end());
  return order;
}

StepPlan Plan(int64_t samples_per_rank, int64_t local_batch) {
  StepPlan plan;
  plan.samples_per_rank = samples_per_rank;
  plan.local_batch = local_batch;
  plan.steps_per_epoch = (samples_per_rank + local_batch - 1) / local_batch;
  plan.total_steps = 100;
  return plan;
}

// The labels of a step's micro-batches, one list each.
std::vector<std::vector<int64_t>> Labels(BatchLoader& loader, int64_t step) {
  std::vector<std::vector<int64_t>> labels;
  for (const MicroBatch& micro : loader.Load(step)) labels.push_back(micro.batch.labels);
  return labels;
}

TEST(BatchLoaderTest, RanksTakeTheSamplersOrder) {
  // 7 samples, 2 ranks: 4 each, padded from the head. Seed 0, epoch 0: 0 1 .. 6, 0.
  const Dataset dataset = IndexedDataset(7);
  BatchLoader rank0(dataset, Plan(4, 2), {.rank = 0, .ranks = 2}, Rotation);
  BatchLoader rank1(dataset, Plan(4, 2), {.rank = 1, .ranks = 2}, Rotation);
  EXPECT_THAT(Labels(rank0, 0), ElementsAre(ElementsAre(0, 2)));
  EXPECT_THAT(Labels(rank0, 1), ElementsAre(ElementsAre(4, 6)));
  EXPECT_THAT(Labels(rank1, 0), ElementsAre(ElementsAre(1, 3)));
  EXPECT_THAT(Labels(rank1, 1), ElementsAre(ElementsAre(5, 0)));
}

TEST(BatchLoaderTest, DropLastTruncates) {
  // ceil((7 - 2) / 2) = 3 samples of each rank.
  const Dataset dataset = IndexedDataset(7);
  BatchLoader loader(dataset, Plan(3, 3), {.drop_last = true, .rank = 1, .ranks = 2}, Rotation);
  EXPECT_THAT(Labels(loader, 0), ElementsAre(ElementsAre(1, 3, 5)));
}

TEST(BatchLoaderTest, EpochFollowsFromTheStepAndSeedAddsToIt) {
  const Dataset dataset = IndexedDataset(4);
  BatchLoader loader(dataset, Plan(4, 2), {.seed = 1}, Rotation);
  EXPECT_EQ(loader.epoch(1), 0);
  EXPECT_EQ(loader.epoch(2), 1);
  EXPECT_THAT(Labels(loader, 0), ElementsAre(ElementsAre(1, 2)));
  EXPECT_THAT(Labels(loader, 1), ElementsAre(ElementsAre(3, 0)));
  EXPECT_THAT(Labels(loader, 2), ElementsAre(ElementsAre(2, 3)));
  EXPECT_THAT(Labels(loader, 7), ElementsAre(ElementsAre(2, 3)));
  // Backwards too: the step alone decides.
  EXPECT_THAT(Labels(loader, 0), ElementsAre(ElementsAre(1, 2)));
}

TEST(BatchLoaderTest, PermutationIsDrawnOnceAnEpoch) {
  const Dataset dataset = IndexedDataset(4);
  int draws = 0;
  BatchLoader loader(dataset, Plan(4, 2), {}, [&](int64_t n, uint64_t seed, int64_t epoch) {
    ++draws;
    return Rotation(n, seed, epoch);
  });
  for (int step = 0; step < 6; ++step) loader.Load(step);
  EXPECT_EQ(draws, 3);
}

TEST(BatchLoaderTest, LastStepOfAnEpochMayBeSmaller) {
  const Dataset dataset = IndexedDataset(5);
  BatchLoader loader(dataset, Plan(5, 2), {}, Rotation);
  EXPECT_EQ(loader.samples(1), 2);
  EXPECT_EQ(loader.samples(2), 1);
  EXPECT_THAT(Labels(loader, 2), ElementsAre(ElementsAre(4)));
  EXPECT_THAT(Labels(loader, 3), ElementsAre(ElementsAre(1, 2)));
}

TEST(BatchLoaderTest, AccumulationSplitsEvenlyAndWeighsBySize) {
  const Dataset dataset = IndexedDataset(7);
  BatchLoader loader(dataset, Plan(7, 5), {.accumulation = 3}, Rotation);
  EXPECT_THAT(Labels(loader, 0), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
  const std::span<const MicroBatch> parts = loader.Load(0);
  EXPECT_DOUBLE_EQ(parts[0].weight, 0.4);
  EXPECT_DOUBLE_EQ(parts[2].weight, 0.2);
  // Two samples are left for three micro-batches: the empty one is left out.
  EXPECT_THAT(Labels(loader, 1), ElementsAre(ElementsAre(5), ElementsAre(6)));
  EXPECT_DOUBLE_EQ(loader.Load(1)[1].weight, 0.5);
}

TEST(BatchLoaderTest, ImagesGoWithTheirLabels) {
  const Dataset dataset = IndexedDataset(6);
  BatchLoader loader(dataset, Plan(6, 6), {.seed = 2}, Rotation);
  const Batch& batch = loader.Load(0)[0].batch;
  ASSERT_EQ(batch.images.size(), 6u);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(batch.images[i], static_cast<float>(batch.labels[i]) / 255.0f);
  }
}

TEST(BatchLoaderTest, MoreRanksThanSamples) {
  const Dataset dataset = IndexedDataset(1);
  BatchLoader loader(dataset, Plan(1, 3), {.rank = 4, .ranks = 5}, Rotation);
  EXPECT_THAT(Labels(loader, 0), ElementsAre(ElementsAre(0)));
}

TEST(BatchLoaderTest, BuffersAreReused) {
  const Dataset dataset = IndexedDataset(10);
  BatchLoader loader(dataset, Plan(10, 4), {}, Rotation);
  const float* first = loader.Load(0)[0].batch.images.data();
  for (int step = 1; step < 9; ++step) {
    EXPECT_EQ(loader.Load(step)[0].batch.images.data(), first) << step;
  }
}

TEST(BatchLoaderTest, PlanOfAnotherDataSetIsABug) {
  const Dataset dataset = IndexedDataset(10);
  EXPECT_DEATH(BatchLoader(dataset, Plan(9, 4), {}, Rotation), "made for this data set");
}

}  // namespace
}  // namespace crossover::worker
