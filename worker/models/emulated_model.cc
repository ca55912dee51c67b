#include "worker/models/emulated_model.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "core/check.h"
#include "core/emulation.h"
#include "core/strategy_traits.h"
#include "worker/models/aligned_floats.h"
#include "worker/straggler.h"

namespace crossover::worker {
namespace {

// 16 KiB: half of a first-level cache.
constexpr int64_t kPatternValues = 4096;

std::vector<float> MakePattern(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> pattern(kPatternValues);
  for (float& value : pattern) {
    const uint64_t bits = random();
    const double magnitude = 0x1p-12 * (1 + 3 * static_cast<double>(bits >> 11) * 0x1p-53);
    value = static_cast<float>((bits & 1) != 0 ? magnitude : -magnitude);
  }
  return pattern;
}

// ForwardBackward's calls in a step: micro-batches, of one shard or of all.
int64_t CallsPerStep(const proto::Job& job) {
  return int64_t{job.accumulation()} * (TraitsOf(job).one_process ? job.workers() : 1);
}

class EmulatedModel final : public Model {
 public:
  EmulatedModel(const proto::Job& job, int rank, Clock& clock, os::SharedBufferRegistry* shared)
      : clock_(clock),
        rank_(rank),
        calls_per_step_(CallsPerStep(job)),
        layers_(ScaledLayers(job.emulated())),
        layout_(EmulatedLayout(layers_)),
        pattern_(MakePattern(job.seed())),
        straggler_(job),
        parameters_(MakeZeros(layout_.length, shared)),
        gradients_(MakeZeros(layout_.length, shared)) {
    AddPattern(parameters_.get(), layout_.length, 1);
  }

  const FlatLayout& layout() const override { return layout_; }
  DeviceSpan parameters() override { return Span(parameters_); }
  DeviceSpan gradients() override { return Span(gradients_); }

  double ForwardBackward(const Batch& batch, double weight,
                         const std::function<void(int)>& ready) override {
    CROSSOVER_CHECK(batch.size() > 0, "the mean loss of no samples does not exist");
    const double times = weight * straggler_.Factor(rank_, calls_++ / calls_per_step_);
    const int64_t start_ns = clock_.NowNs();
    int64_t passed_ns = 0;
    const auto wait_until_passed = [&] {
      const auto due_ns = start_ns + std::llround(static_cast<double>(passed_ns) * times);
      clock_.SleepNs(due_ns - clock_.NowNs());
    };
    for (const EmulatedLayer& layer : layers_) passed_ns += layer.forward_ns;
    wait_until_passed();
    int parameter = 0;
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      passed_ns += layer->backward_ns;
      if (layer->values == 0) continue;  // its time is waited out with the next layer's
      const ParameterInfo& info = layout_.parameters[parameter];
      AddPattern(gradients_.get() + info.offset, info.length, static_cast<float>(weight));
      wait_until_passed();
      if (ready) ready(parameter);
      ++parameter;
    }
    wait_until_passed();
    return 0;
  }

  std::optional<EvaluationResult> Evaluate(const Dataset&) override { return std::nullopt; }
  std::vector<float> SaveBuffers() override { return {}; }
  void LoadBuffers(std::span<const float> buffers) override {
    CROSSOVER_CHECK(buffers.empty(), "buffers that this model saved");
  }

 private:
  void AddPattern(float* out, int64_t length, float weight) const {
    const float* pattern = pattern_.data();
    for (int64_t begin = 0; begin < length; begin += kPatternValues) {
      const int64_t count = std::min(kPatternValues, length - begin);
      for (int64_t i = 0; i < count; ++i) out[begin + i] += weight * pattern[i];
    }
  }

  DeviceSpan Span(const AlignedFloats& buffer) const {
    return {.data = buffer.get(), .length = static_cast<size_t>(layout_.length)};
  }

  Clock& clock_;
  const int rank_;
  const int64_t calls_per_step_;
  const std::vector<EmulatedLayer> layers_;
  const FlatLayout layout_;
  const std::vector<float> pattern_;
  StragglerSchedule straggler_;
  AlignedFloats parameters_;
  AlignedFloats gradients_;
  int64_t calls_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> MakeEmulatedModel(const proto::Job& job, int rank,
                                                         Clock& clock,
                                                         os::SharedBufferRegistry* shared) {
  if (job.emulated().layers().empty()) {
    return absl::InvalidArgumentError(
        "emulated.layers is empty; allowed: at least one layer; fix: name a profile, "
        "--emulated.profile=resnet50");
  }
  return std::make_unique<EmulatedModel>(job, rank, clock, shared);
}

}  // namespace crossover::worker
