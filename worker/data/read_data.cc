#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/data/cifar10_reader.h"
#include "worker/data/dataset.h"
#include "worker/data/idx_reader.h"
#include "worker/data/normalization.h"

namespace crossover::worker {
namespace {

// Of `samples` training samples, how many are held out: at least one, and not all.
absl::StatusOr<int64_t> ValidationSamples(const proto::Data& data, int64_t samples) {
  if (data.validation_part() == 0) return 0;
  if (samples < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        data.path(), " with ", samples, " training samples and data.validation_part ",
        data.validation_part(), ": 2 samples are needed, one to train on and one to hold out"));
  }
  const double wanted = data.validation_part() * static_cast<double>(samples);
  return std::clamp<int64_t>(std::llround(wanted), 1, samples - 1);
}

// Moves the last `count` training samples into the place of the test samples, if these are wanted.
void HoldOut(int64_t count, Samples wanted, TrainTest& data) {
  const int64_t kept = data.train.size() - count;
  const int64_t kept_pixels = kept * data.train.shape.pixels();
  std::vector<uint8_t>& pixels = data.train.pixels;
  std::vector<uint8_t>& labels = data.train.labels;
  if (wanted == Samples::kTrainAndTest) {
    data.test.pixels.assign(pixels.begin() + kept_pixels, pixels.end());
    data.test.labels.assign(labels.begin() + kept, labels.end());
  }
  pixels.resize(kept_pixels);
  labels.resize(kept);
}

}  // namespace

absl::StatusOr<TrainTest> ReadData(const proto::Data& data, Samples wanted) {
  ASSIGN_OR_RETURN(TrainTest result, data.format() == proto::Data::cifar10
                                         ? ReadCifar10(data, wanted)
                                         : ReadIdx(data, wanted));
  ASSIGN_OR_RETURN(const int64_t held_out, ValidationSamples(data, result.train.size()));
  if (held_out > 0) HoldOut(held_out, wanted, result);
  result.train.normalization = MeasureNormalization(result.train);
  result.test.normalization = result.train.normalization;
  return result;
}

TrainTest BlankData(int64_t samples) {
  TrainTest data;
  for (Dataset* dataset : {&data.train, &data.test}) {
    dataset->shape = {.channels = 1, .height = 1, .width = 1, .classes = 1};
    dataset->normalization = {.mean = {0}, .standard_deviation = {1}};
  }
  data.train.pixels.resize(samples);
  data.train.labels.resize(samples);
  return data;
}

absl::StatusOr<DataSummary> SummarizeData(const proto::Data& data) {
  ASSIGN_OR_RETURN(DataSummary summary, data.format() == proto::Data::cifar10
                                            ? SummarizeCifar10(data)
                                            : SummarizeIdx(data));
  ASSIGN_OR_RETURN(const int64_t held_out, ValidationSamples(data, summary.train_samples));
  if (held_out > 0) summary.test_samples = held_out;
  summary.train_samples -= held_out;
  return summary;
}

absl::StatusOr<std::vector<std::string>> DataFiles(const proto::Data& data) {
  return data.format() == proto::Data::cifar10 ? Cifar10Files(data) : IdxFiles(data);
}

}  // namespace crossover::worker
