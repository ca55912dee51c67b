// The compare binary's --diff: two result folders side by side.
#ifndef CROSSOVER_EXPERIMENTS_COMPARE_DIFF_H_
#define CROSSOVER_EXPERIMENTS_COMPARE_DIFF_H_

#include "absl/status/status.h"
#include "experiments/compare_arguments.h"

namespace crossover::experiments {

// Prints the differences; with --out, writes them to diff.md there too. Runs nothing.
absl::Status CompareDiff(const CommandLine& command);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_COMPARE_DIFF_H_
