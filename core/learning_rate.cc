#include "core/learning_rate.h"

#include <cmath>
#include <numbers>

#include "core/strategy_traits.h"

namespace crossover {
namespace {

double Peak(const proto::LearningRate& config, int64_t global_batch) {
  const double ratio =
      static_cast<double>(global_batch) / static_cast<double>(config.reference_batch());
  switch (config.scaling()) {
    case proto::LearningRate::fixed:
      return config.base();
    case proto::LearningRate::linear:
      return config.base() * ratio;
    case proto::LearningRate::sqrt:
      return config.base() * std::sqrt(ratio);
  }
  return config.base();
}

int64_t WarmupSteps(const proto::LearningRate& config, int64_t total_steps) {
  if (config.has_warmup_steps()) return config.warmup_steps();
  return std::llround(config.warmup_fraction() * static_cast<double>(total_steps));
}

}  // namespace

LearningRateSchedule::LearningRateSchedule(const proto::LearningRate& config, int64_t global_batch,
                                           int64_t total_steps)
    : peak_(Peak(config, global_batch)),
      warmup_steps_(WarmupSteps(config, total_steps)),
      total_steps_(total_steps),
      cosine_(config.decay() == proto::LearningRate::cosine) {}

double LearningRateSchedule::At(int64_t step) const {
  if (step < warmup_steps_) {
    return peak_ * static_cast<double>(step) / static_cast<double>(warmup_steps_);
  }
  if (!cosine_) return peak_;
  if (step >= total_steps_) return 0;
  const double progress =
      static_cast<double>(step - warmup_steps_) / static_cast<double>(total_steps_ - warmup_steps_);
  return peak_ / 2 * (1 + std::cos(std::numbers::pi * progress));
}

double PushRateFactor(const proto::Job& job) {
  // There the staleness, about workers - 1, is what the rate is divided by.
  if (job.strategy() == proto::Strategy::ps_async_scaled) return 1.0;
  const bool divided = job.ps().push_rate() == proto::ParameterServer::by_workers;
  return divided ? 1.0 / UpdatesPerGlobalBatch(job) : 1.0;
}

}  // namespace crossover
