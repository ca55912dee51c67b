// Two things that were measured in turn, compared round by round. Pure.
#ifndef CROSSOVER_BENCH_SHARED_PAIRED_RATIO_H_
#define CROSSOVER_BENCH_SHARED_PAIRED_RATIO_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "experiments/results/statistics.h"

namespace crossover::bench {

// The median over the rounds in common of theirs / ours, and its spread (a bootstrap 95% interval
// from six rounds on, else the range): of times, how many times as fast we are.
struct PairedRatio {
  double median = 0;
  experiments::Spread spread;
  double lowest = 0;
  double highest = 0;
  int rounds = 0;
};
// By round. Nothing where they share no round.
std::optional<PairedRatio> RatioOf(const std::map<int64_t, double>& ours,
                                   const std::map<int64_t, double>& theirs);

// "1.75 (1.70 to 1.81)"
std::string RatioText(const PairedRatio& ratio);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_SHARED_PAIRED_RATIO_H_
