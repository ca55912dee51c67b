#include "worker/data/idx_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "worker/data/test_files.h"

namespace crossover::worker {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kTrainImages[] = "train-images-idx3-ubyte";
constexpr char kTrainLabels[] = "train-labels-idx1-ubyte";
constexpr char kTestImages[] = "t10k-images-idx3-ubyte";
constexpr char kTestLabels[] = "t10k-labels-idx1-ubyte";

// A directory with a right data set: 5 training and 3 test images of 2x3, labels 0..3.
class IdxReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = MakeTestDirectory();
    data_.set_path(directory_);
    Write(kTrainImages, IdxImages(5, 2, 3));
    Write(kTrainLabels, IdxLabels({3, 1, 0, 2, 1}));
    Write(kTestImages, IdxImages(3, 2, 3));
    Write(kTestLabels, IdxLabels({0, 3, 2}));
  }

  std::string Path(const std::string& name) const { return absl::StrCat(directory_, "/", name); }
  void Write(const std::string& name, const std::string& content) {
    WriteTestFile(Path(name), content);
  }
  void Remove(const std::string& name) { std::filesystem::remove(Path(name)); }
  // The error of reading, which is summarising's too.
  std::string ReadError() {
    const auto read = ReadIdx(data_);
    EXPECT_FALSE(read.ok());
    EXPECT_EQ(SummarizeIdx(data_).status(), read.status());
    return std::string(read.status().message());
  }

  std::string directory_;
  proto::Data data_;
};

TEST_F(IdxReaderTest, ReadsPixelsLabelsAndShape) {
  const auto data = ReadIdx(data_);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->train.size(), 5);
  EXPECT_THAT(data->train.labels, ElementsAre(3, 1, 0, 2, 1));
  EXPECT_THAT(data->test.labels, ElementsAre(0, 3, 2));
  EXPECT_EQ(data->train.shape.channels, 1);
  EXPECT_EQ(data->train.shape.height, 2);
  EXPECT_EQ(data->train.shape.width, 3);
  EXPECT_EQ(data->train.shape.classes, 4);
  EXPECT_EQ(data->test.shape.classes, 4);
  EXPECT_THAT(data->train.image(4), ElementsAre(4, 5, 6, 7, 8, 9));
  EXPECT_THAT(data->test.image(0), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(IdxReaderTest, SummaryAgreesWithReading) {
  const auto summary = SummarizeIdx(data_);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->train_samples, 5);
  EXPECT_EQ(summary->test_samples, 3);
  EXPECT_EQ(summary->shape.width, 3);
  EXPECT_EQ(summary->shape.classes, 4);
}

TEST_F(IdxReaderTest, GzipAndDottedNames) {
  Remove(kTrainImages);
  Remove(kTestLabels);
  Write("train-images.idx3-ubyte", IdxImages(5, 2, 3));
  Write("t10k-labels.idx1-ubyte.gz", Gzip(IdxLabels({2, 2, 2})));
  const auto data = ReadIdx(data_);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->test.labels, ElementsAre(2, 2, 2));
}

TEST_F(IdxReaderTest, PlainGoesBeforeGzip) {
  Write(std::string(kTestLabels) + ".gz", Gzip(IdxLabels({1, 1, 1})));
  const auto data = ReadIdx(data_);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->test.labels, ElementsAre(0, 3, 2));
}

TEST_F(IdxReaderTest, OneClassInTheFileStillCountsAsTwo) {
  Write(kTrainLabels, IdxLabels({0, 0, 0, 0, 0}));
  Write(kTestLabels, IdxLabels({0, 1, 0}));
  EXPECT_EQ(ReadIdx(data_)->train.shape.classes, 2);
}

TEST_F(IdxReaderTest, AllClassesOfAByte) {
  std::vector<uint8_t> labels;
  for (int label = 255; label >= 0; --label) labels.push_back(static_cast<uint8_t>(label));
  Write(kTrainLabels, IdxLabels(labels));
  Write(kTrainImages, IdxImages(256, 2, 3));
  EXPECT_EQ(ReadIdx(data_)->train.shape.classes, 256);
}

TEST_F(IdxReaderTest, ClassesMayCountFromOne) {
  Write(kTrainLabels, IdxLabels({3, 1, 1, 2, 1}));
  Write(kTestLabels, IdxLabels({1, 3, 2}));
  EXPECT_EQ(ReadIdx(data_)->train.shape.classes, 4);
}

TEST_F(IdxReaderTest, LabelBeyondAGapInTheClasses) {
  const std::string end = "; allowed: classes without a gap, from 0 or 1";
  Write(kTrainLabels, IdxLabels({1, 0, 200, 201, 2}));
  EXPECT_EQ(ReadError(), absl::StrCat(Path(kTrainLabels),
                                      ": byte 10: label 200, but no training label is 3", end));
  Write(kTrainLabels, IdxLabels({0, 255, 0, 0, 0}));
  EXPECT_EQ(ReadError(), absl::StrCat(Path(kTrainLabels),
                                      ": byte 9: label 255, but no training label is 1", end));
  Write(kTrainLabels, IdxLabels({2, 2, 2, 2, 2}));
  EXPECT_EQ(ReadError(),
            absl::StrCat(Path(kTrainLabels), ": byte 8: label 2, but no training label is 1", end));
}

TEST_F(IdxReaderTest, LimitsTakeTheFirstSamplesAndKeepTheClasses) {
  data_.set_train_limit(2);
  data_.set_test_limit(3);
  const auto data = ReadIdx(data_);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->train.labels, ElementsAre(3, 1));
  EXPECT_EQ(data->train.pixels.size(), 12u);
  EXPECT_EQ(data->test.size(), 3);
  EXPECT_EQ(SummarizeIdx(data_)->train_samples, 2);
  // The classes are the data set's, not those of the part in use.
  data_.set_train_limit(0);
  data_.set_test_limit(0);
  Write(kTrainLabels, IdxLabels({0, 1, 2, 3, 4}));
  data_.set_train_limit(2);
  EXPECT_EQ(ReadIdx(data_)->train.shape.classes, 5);
}

TEST_F(IdxReaderTest, LimitAboveWhatThereIs) {
  data_.set_train_limit(6);
  EXPECT_THAT(ReadError(), AllOf(HasSubstr("data.train_limit: 6 asked for"),
                                 HasSubstr("has 5 samples; allowed: 0 (all) to 5")));
  data_.set_train_limit(0);
  data_.set_test_limit(-1);
  EXPECT_THAT(ReadError(), HasSubstr("data.test_limit: -1 asked for"));
}

TEST_F(IdxReaderTest, MissingDirectoryAndFile) {
  Remove(kTestImages);
  EXPECT_THAT(ReadError(), AllOf(HasSubstr(directory_), HasSubstr("t10k-images-idx3-ubyte, nor "
                                                                  "t10k-images.idx3-ubyte, nor "
                                                                  "t10k-images-idx3-ubyte.gz")));
  data_.set_path("/nowhere");
  EXPECT_THAT(ReadError(),
              AllOf(HasSubstr("data.path: /nowhere does not exist"), HasSubstr("set data.path")));
  data_.set_path(Path(kTrainImages));
  EXPECT_THAT(ReadError(), HasSubstr("is not a directory"));
}

TEST_F(IdxReaderTest, TruncatedPlainImages) {
  const std::string whole = IdxImages(5, 2, 3);
  for (const size_t length : {size_t{17}, whole.size() - 1}) {
    Write(kTrainImages, whole.substr(0, length));
    EXPECT_EQ(ReadError(), absl::StrCat(Path(kTrainImages), ": ends at byte ", length,
                                        "; the header promises 5 images of 2x3, 46 bytes"));
  }
  for (const size_t length : {0, 3, 15}) {
    Write(kTrainImages, whole.substr(0, length));
    EXPECT_EQ(ReadError(), absl::StrCat(Path(kTrainImages), ": ends at byte ", length,
                                        "; an IDX header is needed, 16 bytes"));
  }
}

TEST_F(IdxReaderTest, TruncatedInsideGzip) {
  Remove(kTrainImages);
  Write("train-images-idx3-ubyte.gz", Gzip(IdxImages(5, 2, 3).substr(0, 40)));
  EXPECT_EQ(ReadError(), absl::StrCat(Path(kTrainImages),
                                      ".gz: ends at byte 40; the header "
                                      "promises 5 images of 2x3, 46 bytes"));
}

TEST_F(IdxReaderTest, TrailingBytes) {
  Write(kTestImages, IdxImages(3, 2, 3) + "xy");
  EXPECT_EQ(ReadError(), absl::StrCat(Path(kTestImages),
                                      ": byte 34: the file goes on (36 bytes in all); the header "
                                      "promises 3 images of 2x3, 34 bytes"));
  Remove(kTestImages);
  Write("t10k-images-idx3-ubyte.gz", Gzip(IdxImages(3, 2, 3) + "xy"));
  EXPECT_EQ(ReadError(), absl::StrCat(Path(kTestImages),
                                      ".gz: byte 34: the file goes on; the header "
                                      "promises 3 images of 2x3, 34 bytes"));
  // Found although a limit uses less.
  data_.set_test_limit(1);
  EXPECT_THAT(ReadError(), HasSubstr("byte 34: the file goes on"));
}

TEST_F(IdxReaderTest, DamagedGzip) {
  Remove(kTrainLabels);
  std::string file = Gzip(IdxLabels({3, 1, 0, 2, 1}));
  file[file.size() - 5] ^= 1;
  Write("train-labels-idx1-ubyte.gz", file);
  EXPECT_THAT(ReadError(), AllOf(HasSubstr(Path(kTrainLabels) + ".gz: damaged gzip at byte 13 of "),
                                 HasSubstr("incorrect data check")));
}

TEST_F(IdxReaderTest, DamagedBodyOfGzippedImages) {
  Remove(kTrainImages);
  std::string file = Gzip(IdxImages(5, 2, 3));
  file[file.size() - 20] ^= 0x10;  // among the compressed pixels
  Write("train-images-idx3-ubyte.gz", file);
  EXPECT_THAT(ReadError(), HasSubstr(Path(kTrainImages) + ".gz: damaged gzip at byte "));
  data_.set_train_limit(1);  // also where that part is not used
  EXPECT_THAT(ReadError(), HasSubstr(Path(kTrainImages) + ".gz: damaged gzip at byte "));
}

TEST_F(IdxReaderTest, WrongMagic) {
  Write(kTrainImages, IdxLabels({1, 2}) + "1234567890");
  EXPECT_EQ(ReadError(), absl::StrCat(Path(kTrainImages),
                                      ": byte 0: the magic number is 00000801; expected "
                                      "00000803 (unsigned bytes in 3 dimensions)"));
  Write(kTrainImages, Gzip(IdxImages(5, 2, 3)));
  EXPECT_THAT(ReadError(), HasSubstr("it is a gzip: its name must end in .gz"));
}

TEST_F(IdxReaderTest, SizesThatCannotBe) {
  Write(kTrainImages, BigEndian(0x803) + BigEndian(0) + BigEndian(2) + BigEndian(3));
  EXPECT_THAT(ReadError(), HasSubstr("byte 4: the header promises a size of 0 in dimension 0"));
  Write(kTrainImages, BigEndian(0x803) + BigEndian(5) + BigEndian(2) + BigEndian(5000));
  EXPECT_THAT(ReadError(), AllOf(HasSubstr("byte 12: the header promises a size of 5000"),
                                 HasSubstr("allowed: 1 to 4096")));
}

TEST_F(IdxReaderTest, HugePromiseIsRefusedBeforeAnythingIsAllocated) {
  Remove(kTrainImages);
  const std::string header =
      BigEndian(0x803) + BigEndian(0xffffffff) + BigEndian(4096) + BigEndian(4096);
  Write("train-images-idx3-ubyte.gz", Gzip(header));
  EXPECT_THAT(ReadError(), AllOf(HasSubstr("byte 4: the header promises 4294967295 images"),
                                 HasSubstr("allowed: 4294967296 bytes")));
  // Within the limit, but more than so small a file can unfold to.
  Write("train-images-idx3-ubyte.gz",
        Gzip(BigEndian(0x803) + BigEndian(1000) + BigEndian(1000) + BigEndian(1000)));
  EXPECT_THAT(ReadError(), AllOf(HasSubstr("can unfold to"), HasSubstr("1000000016 bytes")));
}

TEST_F(IdxReaderTest, GzipBombEndsWhereTheHeaderSays) {
  Remove(kTrainImages);
  Write("train-images-idx3-ubyte.gz", Gzip(IdxImages(5, 2, 3) + std::string(50'000'000, '\0')));
  EXPECT_THAT(ReadError(), HasSubstr("byte 46: the file goes on"));
}

TEST_F(IdxReaderTest, NumbersOfImagesAndLabelsMustAgree) {
  Write(kTestLabels, IdxLabels({1, 2}));
  EXPECT_EQ(ReadError(), absl::StrCat(Path(kTestLabels), ": byte 4: 2 labels; ", Path(kTestImages),
                                      " has 3 images"));
}

TEST_F(IdxReaderTest, TestLabelThatTrainingDoesNotKnow) {
  Write(kTestLabels, IdxLabels({0, 3, 4}));
  EXPECT_EQ(ReadError(),
            absl::StrCat(Path(kTestLabels), ": byte 10: label 4; the training labels go up to 3"));
}

TEST_F(IdxReaderTest, TrainAndTestShapesMustAgree) {
  Write(kTestImages, IdxImages(3, 3, 2));
  EXPECT_EQ(ReadError(), absl::StrCat(Path(kTestImages), ": byte 8: images of 3x2; ",
                                      Path(kTrainImages), " has images of 2x3"));
}

}  // namespace
}  // namespace crossover::worker
