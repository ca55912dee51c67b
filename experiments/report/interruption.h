// What reports say of a comparison that was interrupted. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_INTERRUPTION_H_
#define CROSSOVER_EXPERIMENTS_REPORT_INTERRUPTION_H_

#include <string>
#include <vector>

#include "experiments/results/summary.h"

namespace crossover::experiments {

// That runs are still missing; that the comparison was taken up again, when, and which
// repetitions lie on both sides of the gap. Empty for one that ran in one go.
std::vector<std::string> InterruptionCaveats(const Study& study);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_INTERRUPTION_H_
