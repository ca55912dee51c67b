// Samples in the form that a model computes on, and how they are made from a data
// set's bytes: v / 255, then (x - mean) / standard deviation by channel, each
// rounded to fp32, as torchvision's ToTensor and Normalize do.
#ifndef CROSSOVER_WORKER_DATA_BATCH_H_
#define CROSSOVER_WORKER_DATA_BATCH_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/data/dataset.h"

namespace crossover::worker {

// Samples ready for a model: images as normalised fp32, row-major
// [size, channels, height, width], and their classes.
struct Batch {
  std::vector<float> images;
  std::vector<int64_t> labels;
  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

// Fills batches from one data set. Thread-safe; the data set must outlive it.
class BatchFiller {
 public:
  explicit BatchFiller(const Dataset& dataset);
  // Replaces the batch's content by the samples of these indices, in this order.
  // Allocates only where the batch has never been so large. An index outside the
  // data set is a bug (CHECK-fails).
  void Fill(std::span<const int64_t> samples, Batch& batch) const;

 private:
  const Dataset& dataset_;
  // The normalised value of each byte, by channel: exact and cheaper than arithmetic.
  std::vector<std::array<float, 256>> normalized_;
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_DATA_BATCH_H_
