#include "bench/shared/repetitions.h"

#include <algorithm>
#include <cmath>

namespace crossover::bench {
namespace {

constexpr double kRepetitionS = 0.02;
constexpr int64_t kBatchMax = 20'000;
// Of sizes that take long, so that a sweep ends.
constexpr int64_t kRepetitionsMin = 5;
constexpr int64_t kRepetitionsMax = 40;
constexpr double kLongCallS = 0.3;
constexpr int64_t kLongRepetitionsMin = 3;

}  // namespace

Repetitions PlanRepetitions(int64_t iterations, double budget_s, double call_s) {
  const double safe_s = std::max(call_s, 1e-7);
  Repetitions repetitions;
  repetitions.batch =
      std::clamp<int64_t>(static_cast<int64_t>(std::ceil(kRepetitionS / safe_s)), 1, kBatchMax);
  if (iterations > 0) {
    repetitions.count = iterations;
    return repetitions;
  }
  const double fit = budget_s / (safe_s * static_cast<double>(repetitions.batch));
  const int64_t at_least = call_s > kLongCallS ? kLongRepetitionsMin : kRepetitionsMin;
  repetitions.count =
      std::clamp<int64_t>(static_cast<int64_t>(std::min(fit, 1e6)), at_least, kRepetitionsMax);
  return repetitions;
}

}  // namespace crossover::bench
