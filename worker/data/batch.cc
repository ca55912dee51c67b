#include "worker/data/batch.h"

#include "core/check.h"

namespace crossover::worker {

BatchFiller::BatchFiller(const Dataset& dataset) : dataset_(dataset) {
  const Normalization& normalization = dataset.normalization;
  const size_t channels = dataset.shape.channels;
  CROSSOVER_CHECK(
      normalization.mean.size() == channels && normalization.standard_deviation.size() == channels,
      "a mean and a standard deviation for each channel");
  normalized_.resize(channels);
  for (size_t c = 0; c < channels; ++c) {
    for (int v = 0; v < 256; ++v) {
      const float scaled = static_cast<float>(v) / 255.0f;
      normalized_[c][v] = (scaled - normalization.mean[c]) / normalization.standard_deviation[c];
    }
  }
}

void BatchFiller::Fill(std::span<const int64_t> samples, Batch& batch) const {
  const int64_t pixels = dataset_.shape.pixels();
  const int64_t plane = pixels / dataset_.shape.channels;
  batch.images.resize(samples.size() * pixels);
  batch.labels.resize(samples.size());
  float* out = batch.images.data();
  for (size_t i = 0; i < samples.size(); ++i) {
    CROSSOVER_CHECK(samples[i] >= 0 && samples[i] < dataset_.size(),
                    "sample indices lie inside the data set");
    batch.labels[i] = dataset_.labels[samples[i]];
    const uint8_t* in = dataset_.image(samples[i]).data();
    for (const std::array<float, 256>& normalized : normalized_) {
      for (int64_t p = 0; p < plane; ++p) *out++ = normalized[*in++];
    }
  }
}

}  // namespace crossover::worker
