#include "core/averaging.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace crossover {

AveragingSchedule MakeAveragingSchedule(const proto::LocalSgd& config, int64_t total_steps) {
  const int64_t first_phase_steps =
      config.has_first_phase_steps()
          ? config.first_phase_steps()
          : std::llround(config.first_phase_fraction() * static_cast<double>(total_steps));
  return {.local_steps = config.local_steps(), .first_phase_steps = first_phase_steps};
}

OuterOptimizer::OuterOptimizer(double learning_rate, double momentum, int64_t length)
    : learning_rate_(learning_rate),
      momentum_(momentum),
      length_(length),
      velocity_(momentum != 0 ? length : 0) {}

bool OuterOptimizer::IsPlainAverage() const { return learning_rate_ == 1 && momentum_ == 0; }

void OuterOptimizer::Apply(int64_t offset, std::span<float> parameters,
                           std::span<const float> mean) {
  CROSSOVER_CHECK(parameters.size() == mean.size(), "each parameter has one mean");
  CROSSOVER_CHECK(offset >= 0 && offset <= length_ &&
                      static_cast<int64_t>(parameters.size()) <= length_ - offset,
                  "the range lies in the stretch");
  if (IsPlainAverage()) {
    // old - (old - mean) would not always round to mean.
    std::copy(mean.begin(), mean.end(), parameters.begin());
    return;
  }
  const float learning_rate = static_cast<float>(learning_rate_);
  if (velocity_.empty()) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      parameters[i] -= learning_rate * (parameters[i] - mean[i]);
    }
    return;
  }
  const float momentum = static_cast<float>(momentum_);
  const std::span<float> velocity = std::span(velocity_).subspan(offset, parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const float g = parameters[i] - mean[i];
    const float v = momentum * velocity[i] + g;
    velocity[i] = v;
    parameters[i] -= learning_rate * (g + momentum * v);
  }
}

int64_t OuterOptimizer::state_bytes() const {
  return static_cast<int64_t>(velocity_.size() * sizeof(float));
}

}  // namespace crossover
