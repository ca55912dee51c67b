// Made-up but plausible results, for tests of the reports.
#ifndef CROSSOVER_EXPERIMENTS_RESULTS_RESULT_FIXTURE_H_
#define CROSSOVER_EXPERIMENTS_RESULTS_RESULT_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/results/result.h"

namespace crossover::experiments {

// A run of 4 workers with every field filled; `servers` may be 0.
RunResult MadeUpRun(const std::string& strategy, int64_t servers, int64_t repetition,
                    double samples_per_second, double test_accuracy);

// All six strategies, interleaved, without ties: allreduce_ring is fastest, ps_async
// does not reach the target.
std::vector<RunResult> MadeUpComparison(int repetitions);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESULTS_RESULT_FIXTURE_H_
