// The alpha-beta model of measured collectives: time = alpha x steps + beta x bytes, where steps
// and bytes are those of the rank's schedule that has most of them. A pair of constants for each
// transport, operation and algorithm, over all sizes and numbers of ranks that were measured, so
// that the choice among algorithms can be made for sizes and ranks that were not. Pure.
#ifndef CROSSOVER_BENCH_COMM_FIT_H_
#define CROSSOVER_BENCH_COMM_FIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "allreduce/algorithms.h"
#include "bench/comm/record.h"
#include "bench/comm/test_plan.h"

namespace crossover::bench {

struct Work {
  double steps = 0;  // one after the other
  double bytes = 0;  // that one rank sends or receives, whichever is more
};
Work WorkOf(allreduce::Kind op, allreduce::Algorithm algorithm, int ranks, int64_t bytes);

struct AlphaBeta {
  std::string transport;
  std::string buffers;
  std::string op;
  std::string algorithm;
  double alpha_us = 0;        // of a step
  double beta_us_per_MB = 0;  // of 10^6 bytes
  int64_t points = 0;
  double error_median = 0;  // |model - measured| / measured
};

// Least squares of the relative errors, so that small sizes count as much as large ones; neither
// constant is negative. Algorithms with fewer than two different sizes are left out, as are peers
// and limits.
std::vector<AlphaBeta> FitAlphaBeta(const std::vector<Record>& records);

// JSON lines, one a fit.
std::string WriteFits(const std::vector<AlphaBeta>& fits);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_FIT_H_
