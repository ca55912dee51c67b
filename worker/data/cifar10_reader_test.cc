#include "worker/data/cifar10_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "worker/data/test_files.h"

namespace crossover::worker {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Record(uint8_t label, uint8_t red, uint8_t green, uint8_t blue) {
  return std::string(1, static_cast<char>(label)) + std::string(1024, static_cast<char>(red)) +
         std::string(1024, static_cast<char>(green)) + std::string(1024, static_cast<char>(blue));
}

// Two records in each training file, one in the test file.
void WriteAll(const std::string& directory) {
  for (int i = 1; i <= 5; ++i) {
    WriteTestFile(directory + "/data_batch_" + std::to_string(i) + ".bin",
                  Record(i, i, 100 + i, 200 + i) + Record(0, 0, 0, 0));
  }
  WriteTestFile(directory + "/test_batch.bin", Record(9, 7, 8, 9));
}

class Cifar10ReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = MakeTestDirectory();
    data_.set_format(proto::Data::cifar10);
    data_.set_path(directory_);
    WriteAll(directory_);
  }
  std::string ReadError() {
    const auto read = ReadCifar10(data_);
    EXPECT_FALSE(read.ok());
    EXPECT_EQ(SummarizeCifar10(data_).status(), read.status());
    return std::string(read.status().message());
  }
  std::string directory_;
  proto::Data data_;
};

TEST_F(Cifar10ReaderTest, ReadsRecordsInOrderOfTheFiles) {
  const auto data = ReadCifar10(data_);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->train.labels, ElementsAre(1, 0, 2, 0, 3, 0, 4, 0, 5, 0));
  EXPECT_THAT(data->test.labels, ElementsAre(9));
  EXPECT_EQ(data->train.shape.channels, 3);
  EXPECT_EQ(data->train.shape.height, 32);
  EXPECT_EQ(data->train.shape.width, 32);
  EXPECT_EQ(data->train.shape.classes, 10);
  const std::span<const uint8_t> image = data->train.image(4);
  EXPECT_EQ(image[0], 3);
  EXPECT_EQ(image[1024], 103);
  EXPECT_EQ(image[3071], 203);
}

TEST_F(Cifar10ReaderTest, SubfolderIsFound) {
  const std::string folder = directory_ + "/cifar-10-batches-bin";
  std::filesystem::create_directory(folder);
  WriteAll(folder);
  std::filesystem::remove(directory_ + "/test_batch.bin");
  EXPECT_TRUE(ReadCifar10(data_).ok());
  EXPECT_EQ(SummarizeCifar10(data_)->train_samples, 10);
}

TEST_F(Cifar10ReaderTest, SummaryAndLimits) {
  EXPECT_EQ(SummarizeCifar10(data_)->train_samples, 10);
  EXPECT_EQ(SummarizeCifar10(data_)->test_samples, 1);
  data_.set_train_limit(3);
  EXPECT_EQ(SummarizeCifar10(data_)->train_samples, 3);
  EXPECT_THAT(ReadCifar10(data_)->train.labels, ElementsAre(1, 0, 2));
  EXPECT_THAT(ReadCifar10(data_, Samples::kTrain)->train.labels, ElementsAre(1, 0, 2));
  EXPECT_EQ(ReadCifar10(data_, Samples::kTrain)->test.size(), 0);
  data_.set_train_limit(11);
  EXPECT_THAT(ReadError(), AllOf(HasSubstr("data.train_limit: 11"), HasSubstr("has 10 samples")));
}

TEST_F(Cifar10ReaderTest, MissingFileIsNamed) {
  std::filesystem::remove(directory_ + "/data_batch_4.bin");
  EXPECT_THAT(ReadError(), AllOf(HasSubstr(directory_), HasSubstr("data_batch_4.bin")));
}

TEST_F(Cifar10ReaderTest, LengthThatIsNotWholeRecords) {
  WriteTestFile(directory_ + "/data_batch_2.bin", Record(1, 1, 1, 1) + "x");
  EXPECT_EQ(ReadError(), directory_ +
                             "/data_batch_2.bin: ends at byte 3074, inside record 1 that starts at "
                             "byte 3073; expected a multiple of 3073 bytes, at least one record");
  WriteTestFile(directory_ + "/data_batch_2.bin", "");
  EXPECT_THAT(ReadError(), HasSubstr("ends at byte 0, inside record 0"));
}

TEST_F(Cifar10ReaderTest, LabelOutOfRangeEvenBeyondTheLimit) {
  WriteTestFile(directory_ + "/data_batch_5.bin", Record(1, 1, 1, 1) + Record(10, 1, 1, 1));
  data_.set_train_limit(1);
  EXPECT_EQ(ReadError(),
            directory_ + "/data_batch_5.bin: byte 3073: label 10 of record 1; allowed: 0 to 9");
}

}  // namespace
}  // namespace crossover::worker
