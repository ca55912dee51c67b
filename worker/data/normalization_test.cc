#include "worker/data/normalization.h"

#include <gtest/gtest.h>

#include <cmath>

#include "worker/data/batch.h"

namespace crossover::worker {
namespace {

Dataset TwoImages(int channels) {
  Dataset dataset;
  dataset.shape = {.channels = channels, .height = 1, .width = 2, .classes = 2};
  dataset.labels = {1, 0};
  return dataset;
}

TEST(NormalizationTest, MeanAndDeviationByChannel) {
  Dataset dataset = TwoImages(2);
  // Image by image, each channel by channel.
  dataset.pixels = {0, 255, 10, 10, 255, 0, 20, 20};
  const Normalization n = MeasureNormalization(dataset);
  ASSERT_EQ(n.mean.size(), 2u);
  EXPECT_FLOAT_EQ(n.mean[0], 0.5f);
  EXPECT_FLOAT_EQ(n.standard_deviation[0], 0.5f);
  EXPECT_FLOAT_EQ(n.mean[1], 15.0f / 255);
  EXPECT_FLOAT_EQ(n.standard_deviation[1], 5.0f / 255);
}

TEST(NormalizationTest, ConstantChannelHasAPositiveDeviation) {
  Dataset dataset = TwoImages(1);
  dataset.pixels = {7, 7, 7, 7};
  const Normalization n = MeasureNormalization(dataset);
  EXPECT_FLOAT_EQ(n.mean[0], 7.0f / 255);
  EXPECT_FLOAT_EQ(n.standard_deviation[0], 1.0f / 255);
}

TEST(BatchFillerTest, NormalisesInTheGivenOrder) {
  Dataset dataset = TwoImages(2);
  dataset.pixels = {0, 255, 10, 10, 255, 0, 20, 20};
  dataset.normalization = {.mean = {0.5f, 0.25f}, .standard_deviation = {0.5f, 2.0f}};
  Batch batch;
  const int64_t samples[] = {1, 0, 1};
  BatchFiller(dataset).Fill(samples, batch);
  EXPECT_EQ(batch.labels, (std::vector<int64_t>{0, 1, 0}));
  ASSERT_EQ(batch.images.size(), 12u);
  EXPECT_EQ(batch.images[0], 1.0f);
  EXPECT_EQ(batch.images[1], -1.0f);
  EXPECT_EQ(batch.images[2], (20.0f / 255 - 0.25f) / 2);
  EXPECT_EQ(batch.images[4], -1.0f);
  EXPECT_EQ(batch.images[6], (10.0f / 255 - 0.25f) / 2);
  BatchFiller(dataset).Fill({}, batch);
  EXPECT_EQ(batch.size(), 0);
  EXPECT_TRUE(batch.images.empty());
}

TEST(BatchFillerTest, IndexOutsideTheDataIsABug) {
  Dataset dataset = TwoImages(1);
  dataset.pixels = {1, 2, 3, 4};
  dataset.normalization = MeasureNormalization(dataset);
  Batch batch;
  const int64_t samples[] = {2};
  EXPECT_DEATH(BatchFiller(dataset).Fill(samples, batch), "inside the data set");
}

}  // namespace
}  // namespace crossover::worker
