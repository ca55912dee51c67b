// What the cost formulas say of a run that was measured, and where the two part, the
// likely reason. Computed by the reader of results.jsonl: its lines hold measurements
// alone. Pure; docs/METRICS.md, "Predictions".
//
// Where the formulas' figures come from:
//   compute, data, update  the `single` run of the same job and repetition, per shard; else the
//                          layer profile of an emulated job; else the run's own
//   buckets                the run's own plan; ready times from an emulated job's layers,
//                          else where the run's own exchanges began
//   link                   the probe before the runs: without one nothing is predicted
//   servers' speed         what the run's own servers took to sum and apply
// Where processes that compute outnumber the cores of one machine, compute takes so many
// times as long. The formula text says each of these that applies.
#ifndef CROSSOVER_EXPERIMENTS_PREDICTION_PREDICTION_H_
#define CROSSOVER_EXPERIMENTS_PREDICTION_PREDICTION_H_

#include <optional>
#include <string>
#include <vector>

#include "experiments/prediction/cost_model.h"
#include "experiments/results/result.h"
#include "experiments/results/summary.h"

namespace crossover::experiments {

// Measured and predicted agree where they part by no more than this part of the prediction.
inline constexpr double kAgreement = .15;

struct Prediction {
  Cost cost;
  std::string formula;     // with its figures and where they come from
  std::string difference;  // why measured and predicted part; "" where they agree
};

struct Predicted {
  std::optional<Prediction> prediction;
  std::string why_none;  // "" if there is one
};

// `single`: the run of that strategy under the same job and repetition, or null. `run`
// succeeded.
Predicted Predict(const RunResult& run, const RunResult* single);

// What a reader is shown of one strategy: medians over its repetitions; formula and
// difference of its typical run.
struct PredictionRow {
  std::string strategy;
  double measured_step_ms = 0;  // mean over ranks and measured steps
  std::optional<double> predicted_step_ms;
  double measured_share = 0;
  std::optional<double> predicted_share;
  std::string formula;     // or why there is none
  std::string difference;  // "" where they agree or nothing is predicted
};
// A row for each strategy with a run that succeeded, in the study's order.
std::vector<PredictionRow> PredictionRows(const Study& study);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_PREDICTION_PREDICTION_H_
