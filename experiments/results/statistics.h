// The few statistics that the reports use, and the rule by which two strategies
// are told apart. Pure and repeatable: the bootstrap is seeded.
#ifndef CROSSOVER_EXPERIMENTS_RESULTS_STATISTICS_H_
#define CROSSOVER_EXPERIMENTS_RESULTS_STATISTICS_H_

#include <cstdint>
#include <map>
#include <vector>

namespace crossover::experiments {

// The middle value, or the mean of the two middle ones. `values` is not empty.
double Median(std::vector<double> values);

// Nearest rank: the ceil(percent / 100 x n)-th smallest of n values, so always one
// that was measured. `values` is not empty, 0 < percent <= 100.
double Percentile(std::vector<double> values, double percent);

// A bootstrap of fewer repetitions is little more than their range.
inline constexpr int kBootstrapRepetitions = 6;
inline constexpr int kBootstrapResamples = 2000;
inline constexpr uint64_t kBootstrapSeed = 1;

enum class SpreadKind {
  kSingle,       // one value: nothing is known of its spread
  kRange,        // smallest to largest of 2 to 5 values
  kBootstrap95,  // percentile bootstrap interval of the median, of 6 values or more
};

struct Spread {
  SpreadKind kind = SpreadKind::kSingle;
  double low = 0;
  double high = 0;
};

// `values` is not empty.
Spread SpreadOf(const std::vector<double>& values, uint64_t seed = kBootstrapSeed);

enum class Comparison {
  kUnknown,  // fewer than two repetitions in common
  kTie,      // the spread of the paired difference holds 0
  kHigher,
  kLower,
};

struct PairedDifference {
  Comparison comparison = Comparison::kUnknown;  // of a against b
  int pairs = 0;
  double median = 0;  // of a - b over the repetitions in common
  Spread spread;
};

// Repetition -> value. Interleaved runs of one repetition met the same conditions,
// so their difference is freer of drift than the difference of the medians.
PairedDifference Compare(const std::map<int64_t, double>& a, const std::map<int64_t, double>& b);

// Where values have no partners: the difference of the medians (pairs stays 0). Its spread is a
// bootstrap of both sides where both have 6 values or more, else all that a - b can be (smallest
// - largest to largest - smallest), so that sides whose ranges overlap tie. Nothing is told apart
// where a side has fewer than 2.
PairedDifference CompareUnpaired(const std::vector<double>& a, const std::vector<double>& b);

// How often two sides of so many values each, drawn alike, would have ranges that do not
// overlap: 2 a! b! / (a + b)!.
double ChanceOfDisjointRanges(int a, int b);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESULTS_STATISTICS_H_
