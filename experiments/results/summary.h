// The runs of a comparison, grouped: one study for each job, and in it one summary
// for each strategy. What the verdict and the reports are written from.
#ifndef CROSSOVER_EXPERIMENTS_RESULTS_SUMMARY_H_
#define CROSSOVER_EXPERIMENTS_RESULTS_SUMMARY_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/results/result.h"
#include "experiments/results/statistics.h"

namespace crossover::experiments {

// A figure of one run; empty where the run has none.
using Figure = std::function<std::optional<double>(const RunResult&)>;

// Borrows the results.
struct StrategySummary {
  std::string strategy;
  std::vector<const RunResult*> runs;    // that succeeded, by repetition
  std::vector<const RunResult*> failed;  // by repetition
};

struct Study {
  std::string job_name;
  std::string model;
  std::vector<StrategySummary> strategies;  // in the order in which they first ran

  // All runs, failed ones too.
  std::vector<const RunResult*> all() const;
  // "fashion-mlp (mlp)".
  std::string title() const;
};

// By job name and model, in the order in which they first ran.
std::vector<Study> GroupResults(const std::vector<RunResult>& results);

// Median and spread over the repetitions that have the figure; empty if none has.
struct FigureSummary {
  int count = 0;
  double median = 0;
  Spread spread;
};
std::optional<FigureSummary> Summarize(const StrategySummary& strategy, const Figure& figure);

// Repetition -> value, for paired differences.
std::map<int64_t, double> ByRepetition(const StrategySummary& strategy, const Figure& figure);

// The run whose throughput is the (lower) median: where one run must stand for all. Null
// if no run succeeded.
const RunResult* TypicalRun(const StrategySummary& strategy);

// The strategies with at least one run that succeeded.
std::vector<const StrategySummary*> Succeeded(const Study& study);

// Null if the study has no such strategy.
const StrategySummary* FindStrategy(const Study& study, const std::string& strategy);

// Figures that several reports show.
std::optional<double> Throughput(const RunResult& run);
std::optional<double> TestAccuracy(const RunResult& run);
std::optional<double> TimeToTarget(const RunResult& run);
std::optional<double> CostToTarget(const RunResult& run);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESULTS_SUMMARY_H_
