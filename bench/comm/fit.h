// What a transport costs, fitted to measured collectives (the model is allreduce/choice.h's): the
// constants by which algorithms are chosen. Pure.
#ifndef CROSSOVER_BENCH_COMM_FIT_H_
#define CROSSOVER_BENCH_COMM_FIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/choice.h"
#include "bench/comm/record.h"

namespace crossover::bench {

struct Fit {
  std::string network;  // the lab's spec, or ""
  std::string transport;
  std::string host;  // where it was measured; several by ", "
  allreduce::CostFit costs;
  int64_t points = 0;
  double error_median = 0;  // |model - measured| / measured
};

// One for each network and transport: least squares of the relative errors, so that small sizes
// count as much as large ones, with no constant below 0. Of our own lines whose algorithm is a
// schedule's; ranks of one line are on one host, or each on its own. Constants that no algorithm
// among them tells apart share their cost between them.
std::vector<Fit> FitCosts(const std::vector<Record>& records);

// JSON lines, one a fit; core/transport_costs.h reads them for a job.
std::string WriteFits(const std::vector<Fit>& fits);

// Whether there is one, and the file may be used. Errors name the file and say what to measure.
absl::Status CheckFits(const std::vector<Fit>& fits, const std::string& file);

// The constants that such a file has of a transport. Errors name the file (and the line).
absl::StatusOr<allreduce::CostFit> CostsIn(const std::string& text, const std::string& file,
                                           const std::string& transport);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_FIT_H_
