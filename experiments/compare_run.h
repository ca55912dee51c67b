// The compare binary's main mode: makes a comparison, or goes on with one that was
// interrupted.
#ifndef CROSSOVER_EXPERIMENTS_COMPARE_RUN_H_
#define CROSSOVER_EXPERIMENTS_COMPARE_RUN_H_

#include "absl/status/status.h"
#include "experiments/compare_arguments.h"

namespace crossover::experiments {

// Blocks for the whole comparison; prints its reports. CANCELLED after a signal, which
// `ended_by` then is.
absl::Status CompareRun(const CommandLine& command, int& ended_by);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_COMPARE_RUN_H_
