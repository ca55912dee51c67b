// Reads the real Fashion-MNIST, where dataset-fashion-mnist puts it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

TEST(ReadDataTest, WithoutTheTestSamplesTheTrainingSetIsTheSame) {
  proto::Data job;
  job.set_train_limit(1000);
  for (const double validation_part : {0.0, 0.1}) {
    job.set_validation_part(validation_part);
    const auto both = ReadData(job);
    const auto train = ReadData(job, Samples::kTrain);
    ASSERT_TRUE(both.ok() && train.ok()) << both.status() << train.status();
    EXPECT_EQ(train->train.labels, both->train.labels);
    EXPECT_EQ(train->train.pixels, both->train.pixels);
    EXPECT_EQ(train->train.normalization.mean, both->train.normalization.mean);
    EXPECT_GT(both->test.size(), 0);
    EXPECT_EQ(train->test.size(), 0);
    EXPECT_TRUE(train->test.pixels.empty());
  }
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

TEST(ReadDataTest, NamesTheFilesOfFashionMnist) {
  const auto files = DataFiles(proto::Data());
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 4u);
  EXPECT_THAT(files->front(), HasSubstr(proto::Data().path() + "/train-images"));
  EXPECT_THAT(files->back(), HasSubstr("t10k-labels"));
  proto::Data nowhere;
  nowhere.set_path("/nowhere");
  EXPECT_THAT(DataFiles(nowhere).status().message(), HasSubstr("/nowhere"));
}

TEST(ReadDataTest, ValidationSamplesAreTheLastOfTheTrainingSet) {
  proto::Data job;
  job.set_train_limit(1000);
  const auto whole = ReadData(job);
  ASSERT_TRUE(whole.ok()) << whole.status();
  job.set_validation_part(0.1);
  const auto split = ReadData(job);
  ASSERT_TRUE(split.ok()) << split.status();
  ASSERT_EQ(split->train.size(), 900);
  ASSERT_EQ(split->test.size(), 100);
  EXPECT_TRUE(std::equal(split->test.labels.begin(), split->test.labels.end(),
                         whole->train.labels.begin() + 900));
  EXPECT_TRUE(std::ranges::equal(split->test.image(0), whole->train.image(900)));
  EXPECT_TRUE(std::ranges::equal(split->test.image(99), whole->train.image(999)));
  EXPECT_TRUE(std::ranges::equal(split->train.image(899), whole->train.image(899)));
  // Nothing of the held-out samples reaches the training, not even their mean.
  EXPECT_NE(split->train.normalization.mean, whole->train.normalization.mean);
  const auto summary = SummarizeData(job);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->train_samples, 900);
  EXPECT_EQ(summary->test_samples, 100);
}

TEST(ReadDataTest, HoldsOutOneSampleAtLeastAndNeverAll) {
  proto::Data job;
  job.set_train_limit(2);
  job.set_validation_part(0.01);
  EXPECT_EQ(SummarizeData(job)->train_samples, 1);
  job.set_train_limit(1);
  EXPECT_THAT(std::string(SummarizeData(job).status().message()),
              HasSubstr("2 samples are needed"));
}

TEST(ReadDataTest, FormatIsSwitchedOn) {
  proto::Data job;
  job.set_format(proto::Data::cifar10);
  EXPECT_THAT(std::string(ReadData(job).status().message()), HasSubstr("data_batch_1.bin"));
  EXPECT_THAT(std::string(SummarizeData(job).status().message()), HasSubstr("data_batch_1.bin"));
}

TEST(BlankDataTest, HasSamplesWithoutContent) {
  const TrainTest data = BlankData(3);
  EXPECT_EQ(data.train.size(), 3);
  EXPECT_EQ(data.train.pixels.size(), 3u);
  EXPECT_EQ(data.train.shape.pixels(), 1);
  EXPECT_EQ(data.test.size(), 0);
}

}  // namespace
}  // namespace crossover::worker
