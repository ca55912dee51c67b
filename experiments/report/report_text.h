// The short table that ends a comparison in the terminal: at most 100 columns. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_REPORT_TEXT_H_
#define CROSSOVER_EXPERIMENTS_REPORT_REPORT_TEXT_H_

#include <string>
#include <vector>

#include "experiments/results/result.h"

namespace crossover::experiments {

// Per job: a row for each strategy (medians), then the verdict, wrapped. Control
// characters in texts from runs are replaced, so that they cannot drive the terminal.
std::string ReportText(const std::vector<RunResult>& results);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_REPORT_TEXT_H_
