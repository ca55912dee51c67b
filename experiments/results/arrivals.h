// Who waited for whom. A synchronising operation cannot be finished before the
// last rank has started it; until then the others wait, whatever the network does.
// Pure; definitions in docs/METRICS.md.
#ifndef CROSSOVER_EXPERIMENTS_RESULTS_ARRIVALS_H_
#define CROSSOVER_EXPERIMENTS_RESULTS_ARRIVALS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/results/result.h"
#include "experiments/results/run_reports.h"

namespace crossover::experiments {

struct StepWait {
  int64_t wait_ns = 0;          // union over the step's operations, at most its communication
  int64_t exposed_wait_ns = 0;  // the part of it that lies in the exposed communication
};

// For every worker one entry for each of its measured rows.
using Waits = std::vector<std::vector<StepWait>>;

struct Arrivals {
  Waits waits;
  // Measured steps that could not be compared because the ranks recorded different
  // numbers of operations.
  int64_t skipped_steps = 0;
};

// For strategies in which all ranks take part in each operation: the wait of an
// operation is from its start until its last start over ranks, clipped to its length.
Arrivals WaitsAtBarriers(const AlignedRun& run);

// For a staleness bound: the wait of a step is the time for which replies were held.
Arrivals WaitsAtBound(const AlignedRun& run);

// Empty for one worker, or where no step has an operation. `has_barrier`: whether all
// ranks take part in each operation; without, the slowest rank is the straggler.
std::optional<StragglerFigures> FindStraggler(const AlignedRun& run, bool has_barrier);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESULTS_ARRIVALS_H_
