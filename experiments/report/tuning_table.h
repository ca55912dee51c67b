// The table of a search for learning rates: what was tried, found and chosen. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_TUNING_TABLE_H_
#define CROSSOVER_EXPERIMENTS_REPORT_TUNING_TABLE_H_

#include <optional>

#include "experiments/report/report_tables.h"
#include "experiments/results/summary.h"

namespace crossover::experiments {

// One row for each strategy; empty if there was no search.
std::optional<Table> TuningTable(const Study& study);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_TUNING_TABLE_H_
