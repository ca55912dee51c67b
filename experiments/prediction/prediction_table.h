// Measured beside predicted, as the tables and lines that report.md and the terminal show. Pure.
#ifndef CROSSOVER_EXPERIMENTS_PREDICTION_PREDICTION_TABLE_H_
#define CROSSOVER_EXPERIMENTS_PREDICTION_PREDICTION_TABLE_H_

#include <string>
#include <vector>

#include "experiments/report/report_tables.h"
#include "experiments/results/summary.h"

namespace crossover::experiments {

// The figures, and the formulas that they come from; none where no strategy has a prediction.
std::vector<Table> PredictionTables(const Study& study);

// A sentence for each strategy that has a prediction.
std::vector<std::string> PredictionSentences(const Study& study);

// Why no strategy has a prediction; "" if one has.
std::string WhyNothingIsPredicted(const Study& study);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_PREDICTION_PREDICTION_TABLE_H_
