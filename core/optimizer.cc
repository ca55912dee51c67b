#include "core/optimizer.h"

#include <cmath>

#include "core/check.h"

namespace crossover {
namespace {

// The kernels below are elementwise loops without branches, which vectorise, and
// every scalar is rounded to float once before its loop, as PyTorch does.

// torch.optim.SGD: g += wd p; p -= lr g.
void ApplySgd(std::span<float> parameters, std::span<const float> gradient, float learning_rate,
              float weight_decay) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const float g = gradient[i] + weight_decay * parameters[i];
    parameters[i] -= learning_rate * g;
  }
}

// With momentum: g += wd p; buf = mu buf + g; g = nesterov ? g + mu buf : buf;
// p -= lr g.
template <bool kNesterov>
void ApplyMomentum(std::span<float> parameters, std::span<const float> gradient,
                   std::span<float> buffer, float learning_rate, float weight_decay,
                   float momentum) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const float g = gradient[i] + weight_decay * parameters[i];
    const float b = momentum * buffer[i] + g;
    buffer[i] = b;
    parameters[i] -= learning_rate * (kNesterov ? g + momentum * b : b);
  }
}

struct AdamScalars {
  float weight_decay;
  float beta1;
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float epsilon;
  float step_size;              // lr / (1 - beta1^t)
  float bias_correction2_sqrt;  // sqrt(1 - beta2^t)
};

// torch.optim.Adam (1.13, single tensor): g += wd p; m = b1 m + (1 - b1) g;
// v = b2 v + (1 - b2) g g; p -= step_size m / (sqrt(v) / sqrt(1 - b2^t) + eps).
void ApplyAdam(std::span<float> parameters, std::span<const float> gradient, std::span<float> first,
               std::span<float> second, AdamScalars s) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const float g = gradient[i] + s.weight_decay * parameters[i];
    const float m = s.beta1 * first[i] + s.one_minus_beta1 * g;
    const float v = s.beta2 * second[i] + s.one_minus_beta2 * g * g;
    first[i] = m;
    second[i] = v;
    const float denominator = std::sqrt(v) / s.bias_correction2_sqrt + s.epsilon;
    parameters[i] -= s.step_size * m / denominator;
  }
}

AdamScalars MakeAdamScalars(const proto::Optimizer& config, double learning_rate, int64_t update) {
  const double t = static_cast<double>(update + 1);
  const double bias_correction1 = 1 - std::pow(config.beta1(), t);
  const double bias_correction2 = 1 - std::pow(config.beta2(), t);
  return {.weight_decay = static_cast<float>(config.weight_decay()),
          .beta1 = static_cast<float>(config.beta1()),
          .one_minus_beta1 = static_cast<float>(1 - config.beta1()),
          .beta2 = static_cast<float>(config.beta2()),
          .one_minus_beta2 = static_cast<float>(1 - config.beta2()),
          .epsilon = static_cast<float>(config.epsilon()),
          .step_size = static_cast<float>(learning_rate / bias_correction1),
          .bias_correction2_sqrt = static_cast<float>(std::sqrt(bias_correction2))};
}

bool NeedsFirst(proto::OptimizerKind::Name name) { return name != proto::OptimizerKind::sgd; }
bool NeedsSecond(proto::OptimizerKind::Name name) { return name == proto::OptimizerKind::adam; }

}  // namespace

Optimizer::Optimizer(const proto::Optimizer& config, int64_t length)
    : config_(config),
      length_(length),
      momentum_(NeedsFirst(config.name()) ? length : 0),
      second_(NeedsSecond(config.name()) ? length : 0) {}

void Optimizer::Apply(int64_t offset, std::span<float> parameters, std::span<const float> gradient,
                      double learning_rate, int64_t update) {
  CROSSOVER_CHECK(parameters.size() == gradient.size(), "each parameter has one gradient");
  CROSSOVER_CHECK(offset >= 0 && offset <= length_ &&
                      static_cast<int64_t>(parameters.size()) <= length_ - offset,
                  "the range lies in the stretch");
  CROSSOVER_CHECK(update >= 0, "updates count from 0");
  const float lr = static_cast<float>(learning_rate);
  const float weight_decay = static_cast<float>(config_.weight_decay());
  const float momentum = static_cast<float>(config_.momentum());
  const auto state = [&](std::vector<float>& values) {
    return std::span(values).subspan(offset, parameters.size());
  };
  switch (config_.name()) {
    case proto::OptimizerKind::sgd:
      return ApplySgd(parameters, gradient, lr, weight_decay);
    case proto::OptimizerKind::momentum:
      return ApplyMomentum<false>(parameters, gradient, state(momentum_), lr, weight_decay,
                                  momentum);
    case proto::OptimizerKind::nesterov:
      return ApplyMomentum<true>(parameters, gradient, state(momentum_), lr, weight_decay,
                                 momentum);
    case proto::OptimizerKind::adam:
      return ApplyAdam(parameters, gradient, state(momentum_), state(second_),
                       MakeAdamScalars(config_, learning_rate, update));
  }
}

int64_t Optimizer::state_bytes() const {
  return static_cast<int64_t>((momentum_.size() + second_.size()) * sizeof(float));
}

}  // namespace crossover
