#include "worker/data/normalization.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/check.h"

namespace crossover::worker {

Normalization MeasureNormalization(const Dataset& dataset) {
  CROSSOVER_CHECK(dataset.size() > 0, "a mean needs samples");
  const int64_t plane = dataset.shape.pixels() / dataset.shape.channels;
  Normalization result;
  for (int c = 0; c < dataset.shape.channels; ++c) {
    std::array<int64_t, 256> counts = {};
    for (int64_t i = 0; i < dataset.size(); ++i) {
      for (const uint8_t v : dataset.image(i).subspan(c * plane, plane)) ++counts[v];
    }
    int64_t sum = 0;
    for (int v = 0; v < 256; ++v) sum += counts[v] * v;
    const double pixels = static_cast<double>(plane) * static_cast<double>(dataset.size());
    const double mean = static_cast<double>(sum) / pixels;
    double squares = 0;
    for (int v = 0; v < 256; ++v)
      squares += static_cast<double>(counts[v]) * (v - mean) * (v - mean);
    const double deviation = std::sqrt(squares / pixels);
    result.mean.push_back(static_cast<float>(mean / 255.0));
    result.standard_deviation.push_back(static_cast<float>(std::max(deviation, 1.0) / 255.0));
  }
  return result;
}

}  // namespace crossover::worker
