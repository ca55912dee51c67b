// A labelled set of small images in memory, as bytes; immutable and thread-safe
// once read. idx_reader.h and cifar10_reader.h describe the formats.
#ifndef CROSSOVER_WORKER_DATA_DATASET_H_
#define CROSSOVER_WORKER_DATA_DATASET_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace crossover::worker {

struct DataShape {
  int channels = 1;
  int height = 28;
  int width = 28;
  int classes = 10;
  int64_t pixels() const { return int64_t{channels} * height * width; }
};

// Per channel, of pixel values scaled to 0..1.
struct Normalization {
  std::vector<float> mean;
  std::vector<float> standard_deviation;  // positive
};

struct Dataset {
  DataShape shape;
  std::vector<uint8_t> pixels;  // [size, channels, height, width]
  std::vector<uint8_t> labels;  // < shape.classes
  Normalization normalization;  // the training set's, also for the test set
  int64_t size() const { return static_cast<int64_t>(labels.size()); }
  std::span<const uint8_t> image(int64_t i) const {
    return std::span(pixels).subspan(i * shape.pixels(), shape.pixels());
  }
};

struct TrainTest {
  Dataset train;
  Dataset test;
};

// kTrain leaves out the images of the test files, a sixth of the time, and `test` without samples:
// only rank 0 evaluates.
enum class Samples { kTrainAndTest, kTrain };

// Reads what the job names. Errors name the file, the byte offset, what was found and
// what was expected; nothing is trusted before it is checked (sizes against the
// file's real length, labels against the classes, train against test shape).
absl::StatusOr<TrainTest> ReadData(const proto::Data& data,
                                   Samples wanted = Samples::kTrainAndTest);

// Blank samples of one pixel and one class, for a model that does not look at them.
TrainTest BlankData(int64_t samples);

// Checks the data set that the job names as ReadData does, every file to its end, but keeps no
// pixels: for dry runs and refusals before anything starts. Fashion-MNIST takes a quarter of a
// second.
struct DataSummary {
  DataShape shape;
  int64_t train_samples = 0;
  int64_t test_samples = 0;
};
absl::StatusOr<DataSummary> SummarizeData(const proto::Data& data);

// The paths of the files that ReadData reads.
absl::StatusOr<std::vector<std::string>> DataFiles(const proto::Data& data);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_DATA_DATASET_H_
