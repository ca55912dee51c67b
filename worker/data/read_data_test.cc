// Reads the real Fashion-MNIST, where dataset-fashion-mnist puts it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "worker/data/dataset.h"

namespace crossover::worker {
namespace {

using testing::Each;
using testing::HasSubstr;

std::array<int, 10> CountLabels(const Dataset& dataset) {
  std::array<int, 10> counts = {};
  for (const uint8_t label : dataset.labels) ++counts.at(label);
  return counts;
}

TEST(ReadDataTest, FashionMnist) {
  const auto data = ReadData(proto::Data());
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->train.size(), 60000);
  EXPECT_EQ(data->test.size(), 10000);
  EXPECT_THAT(CountLabels(data->train), Each(6000));
  EXPECT_THAT(CountLabels(data->test), Each(1000));
  EXPECT_EQ(data->train.shape.pixels(), 784);
  EXPECT_EQ(data->train.shape.classes, 10);
  // The figures that the literature quotes for this data set.
  EXPECT_NEAR(data->train.normalization.mean[0], 0.2860, 1e-4);
  EXPECT_NEAR(data->train.normalization.standard_deviation[0], 0.3530, 1e-4);
  EXPECT_EQ(data->test.normalization.mean, data->train.normalization.mean);
}

TEST(ReadDataTest, SummaryOfFashionMnist) {
  proto::Data job;
  job.set_test_limit(100);
  const auto summary = SummarizeData(job);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->train_samples, 60000);
  EXPECT_EQ(summary->test_samples, 100);
  EXPECT_EQ(summary->shape.classes, 10);
}

TEST(ReadDataTest, FormatIsSwitchedOn) {
  proto::Data job;
  job.set_format(proto::Data::cifar10);
  EXPECT_THAT(std::string(ReadData(job).status().message()), HasSubstr("data_batch_1.bin"));
  EXPECT_THAT(std::string(SummarizeData(job).status().message()), HasSubstr("data_batch_1.bin"));
}

}  // namespace
}  // namespace crossover::worker
