#include "experiments/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/check.h"

namespace crossover::experiments {
namespace {

constexpr int kResamples = 2000;

Spread Bootstrap95(const std::vector<double>& values, uint64_t seed) {
  // Not std::uniform_int_distribution: its result differs between libraries.
  std::mt19937_64 generator(seed);
  std::vector<double> medians(kResamples);
  std::vector<double> sample(values.size());
  for (double& median : medians) {
    for (double& value : sample) value = values[generator() % values.size()];
    median = Median(sample);
  }
  return {SpreadKind::kBootstrap95, Percentile(medians, 2.5), Percentile(medians, 97.5)};
}

}  // namespace

double Median(std::vector<double> values) {
  CROSSOVER_CHECK(!values.empty(), "a median needs a value");
  const size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + half, values.end());
  const double upper = values[half];
  if (values.size() % 2 == 1) return upper;
  const double lower = *std::max_element(values.begin(), values.begin() + half);
  return lower + (upper - lower) / 2;
}

double Percentile(std::vector<double> values, double percent) {
  CROSSOVER_CHECK(!values.empty(), "a percentile needs a value");
  CROSSOVER_CHECK(percent > 0 && percent <= 100, "a percentile is in (0, 100]");
  const auto rank = static_cast<size_t>(std::ceil(percent / 100 * values.size()));
  const size_t index = std::clamp<size_t>(rank, 1, values.size()) - 1;
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[index];
}

Spread SpreadOf(const std::vector<double>& values, uint64_t seed) {
  CROSSOVER_CHECK(!values.empty(), "a spread needs a value");
  if (values.size() == 1) return {SpreadKind::kSingle, values[0], values[0]};
  if (values.size() >= kBootstrapRepetitions) return Bootstrap95(values, seed);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {SpreadKind::kRange, *low, *high};
}

PairedDifference Compare(const std::map<int64_t, double>& a, const std::map<int64_t, double>& b) {
  std::vector<double> differences;
  for (const auto& [repetition, value] : a) {
    if (const auto other = b.find(repetition); other != b.end()) {
      differences.push_back(value - other->second);
    }
  }
  PairedDifference result;
  result.pairs = static_cast<int>(differences.size());
  if (differences.empty()) return result;
  result.median = Median(differences);
  result.spread = SpreadOf(differences);
  if (result.pairs < 2) return result;
  if (result.spread.low > 0) {
    result.comparison = Comparison::kHigher;
  } else if (result.spread.high < 0) {
    result.comparison = Comparison::kLower;
  } else {
    result.comparison = Comparison::kTie;
  }
  return result;
}

}  // namespace crossover::experiments
