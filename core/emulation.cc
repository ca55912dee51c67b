#include "core/emulation.h"

#include <algorithm>
#include <cmath>

namespace crossover {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kBytesPerValue = 4;

}  // namespace

bool IsEmulated(const proto::Job& job) { return job.model() == proto::Model::emulated; }

std::vector<EmulatedLayer> ScaledLayers(const proto::Emulated& emulated) {
  const double ns_per_ms = kNsPerMs * emulated.time_scale() / emulated.compute_speed();
  const double bytes_per_value = kBytesPerValue * emulated.bytes_scale();
  std::vector<EmulatedLayer> layers;
  for (const proto::Layer& layer : emulated.layers()) {
    const double values = static_cast<double>(layer.gradient_bytes()) / bytes_per_value;
    layers.push_back({.name = layer.name(),
                      .forward_ns = std::llround(layer.forward_ms() * ns_per_ms),
                      .backward_ns = std::llround(layer.backward_ms() * ns_per_ms),
                      .values = static_cast<int64_t>(std::ceil(values))});
  }
  return layers;
}

BucketSizes ScaledBucketSizes(const proto::Job& job) {
  const double scale = IsEmulated(job) ? job.emulated().bytes_scale() : 1;
  const auto scaled = [scale](int64_t bytes) {
    return std::max<int64_t>(1, std::llround(static_cast<double>(bytes) / scale));
  };
  return {.first_bytes = scaled(job.buckets().first_bytes()),
          .bytes = scaled(job.buckets().bytes())};
}

FlatLayout EmulatedLayout(const std::vector<EmulatedLayer>& layers) {
  FlatLayout layout;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    if (layer->values > 0) AppendParameter(layout, layer->name, {layer->values});
  }
  return layout;
}

}  // namespace crossover
