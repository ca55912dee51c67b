// The table of paired differences: each strategy against one reference. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_PAIRED_TABLE_H_
#define CROSSOVER_EXPERIMENTS_REPORT_PAIRED_TABLE_H_

#include <optional>

#include "experiments/report/report_tables.h"
#include "experiments/results/summary.h"

namespace crossover::experiments {

// Throughput and test accuracy, repetition by repetition, against single, or where that did not
// run against the strategy with the highest median throughput. Empty with fewer than two
// strategies.
std::optional<Table> PairedTable(const Study& study);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_PAIRED_TABLE_H_
