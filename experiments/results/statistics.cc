#include "experiments/results/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>

#include "core/check.h"

namespace crossover::experiments {
namespace {

// The median of as many values, drawn with replacement.
double ResampledMedian(const std::vector<double>& values, std::mt19937_64& generator) {
  // Not std::uniform_int_distribution: its result differs between libraries.
  std::vector<double> sample(values.size());
  for (double& value : sample) value = values[generator() % values.size()];
  return Median(std::move(sample));
}

// Of the statistic that `draw` resamples.
Spread Bootstrap95(uint64_t seed, const std::function<double(std::mt19937_64&)>& draw) {
  std::mt19937_64 generator(seed);
  std::vector<double> drawn(kBootstrapResamples);
  for (double& value : drawn) value = draw(generator);
  return {SpreadKind::kBootstrap95, Percentile(drawn, 2.5), Percentile(drawn, 97.5)};
}

// Which side of 0 the whole spread lies on.
Comparison SideOf(const Spread& spread) {
  if (spread.low > 0) return Comparison::kHigher;
  return spread.high < 0 ? Comparison::kLower : Comparison::kTie;
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
  if (values.size() >= kBootstrapRepetitions) {
    return Bootstrap95(
        seed, [&](std::mt19937_64& generator) { return ResampledMedian(values, generator); });
  }
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
  if (result.pairs >= 2) result.comparison = SideOf(result.spread);
  return result;
}

PairedDifference CompareUnpaired(const std::vector<double>& a, const std::vector<double>& b) {
  PairedDifference result;
  if (a.empty() || b.empty()) return result;
  result.median = Median(a) - Median(b);
  const auto [a_low, a_high] = std::minmax_element(a.begin(), a.end());
  const auto [b_low, b_high] = std::minmax_element(b.begin(), b.end());
  result.spread = {SpreadKind::kRange, *a_low - *b_high, *a_high - *b_low};
  if (a.size() < 2 || b.size() < 2) return result;
  if (a.size() >= kBootstrapRepetitions && b.size() >= kBootstrapRepetitions) {
    result.spread = Bootstrap95(kBootstrapSeed, [&](std::mt19937_64& generator) {
      const double of_a = ResampledMedian(a, generator);
      return of_a - ResampledMedian(b, generator);
    });
  }
  result.comparison = SideOf(result.spread);
  return result;
}

double ChanceOfDisjointRanges(int a, int b) {
  CROSSOVER_CHECK(a > 0 && b > 0, "a range needs a value");
  double chance = 2;
  for (int i = 1; i <= b; ++i) chance *= static_cast<double>(i) / (a + i);
  return chance;
}

}  // namespace crossover::experiments
