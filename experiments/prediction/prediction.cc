#include "experiments/prediction/prediction.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "experiments/prediction/prediction_difference.h"
#include "experiments/prediction/prediction_inputs.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

// Steps with the job's slow worker and steps without it, in their parts.
Cost MixedCost(const PredictionInputs& inputs) {
  if (inputs.slow_share <= 0) return CostOfStep(inputs.cost);
  CostInputs slowed = inputs.cost;
  slowed.slowest_factor = inputs.slowdown;
  Cost slow = CostOfStep(slowed);
  if (inputs.slow_share >= 1) return slow;
  const Cost ordinary = CostOfStep(inputs.cost);
  const auto mix = [&](double Cost::*field) {
    return inputs.slow_share * slow.*field + (1 - inputs.slow_share) * ordinary.*field;
  };
  Cost mixed;
  mixed.step_ms = mix(&Cost::step_ms);
  mixed.compute_ms = mix(&Cost::compute_ms);
  mixed.exposed_ms = mix(&Cost::exposed_ms);
  mixed.exchange_ms = mix(&Cost::exchange_ms);
  mixed.latency_ms = mix(&Cost::latency_ms);
  mixed.communication_share = mixed.step_ms > 0 ? mixed.exposed_ms / mixed.step_ms : 0;
  mixed.formula = absl::StrCat(ordinary.formula, ", and ", FormatNumber(slow.step_ms), " ms in ",
                               FormatPercent(inputs.slow_share),
                               " of the steps: ", FormatNumber(mixed.step_ms), " ms");
  return mixed;
}

const RunResult* SingleOf(const Study& study, const RunResult& run) {
  const StrategySummary* single = FindStrategy(study, "single");
  if (single == nullptr) return nullptr;
  for (const RunResult* base : single->runs) {
    if (base->repetition == run.repetition && base->shards == run.shards) return base;
  }
  return nullptr;
}

PredictionRow RowOf(const Study& study, const StrategySummary& strategy) {
  PredictionRow row;
  row.strategy = strategy.strategy;
  std::map<const RunResult*, Predicted> predicted;
  for (const RunResult* run : strategy.runs) {
    predicted[run] = Predict(*run, SingleOf(study, *run));
  }
  const auto median = [&](double Cost::*field) -> std::optional<double> {
    const auto summary = Summarize(strategy, [&](const RunResult& run) -> std::optional<double> {
      const std::optional<Prediction>& prediction = predicted[&run].prediction;
      if (!prediction.has_value()) return std::nullopt;
      return prediction->cost.*field;
    });
    if (!summary.has_value()) return std::nullopt;
    return summary->median;
  };
  const auto measured = [&](double RunResult::*field) {
    return Summarize(strategy,
                     [field](const RunResult& run) -> std::optional<double> { return run.*field; })
        ->median;
  };
  row.measured_step_ms = measured(&RunResult::step_ms_mean);
  row.measured_share = measured(&RunResult::communication_share);
  row.predicted_step_ms = median(&Cost::step_ms);
  row.predicted_share = median(&Cost::communication_share);
  const Predicted& typical = predicted[TypicalRun(strategy)];
  row.formula = typical.prediction.has_value() ? typical.prediction->formula : typical.why_none;
  if (typical.prediction.has_value()) row.difference = typical.prediction->difference;
  return row;
}

}  // namespace

Predicted Predict(const RunResult& run, const RunResult* single) {
  const absl::StatusOr<PredictionInputs> inputs = MakePredictionInputs(run, single);
  if (!inputs.ok()) return {std::nullopt, std::string(inputs.status().message())};
  Prediction prediction;
  prediction.cost = MixedCost(*inputs);
  prediction.formula =
      absl::StrCat(prediction.cost.formula, ". Taken: ", absl::StrJoin(inputs->sources, "; "), ".");
  if (!Agrees(run, prediction.cost)) {
    const double rest_ms = (inputs->cost.data_s + inputs->cost.update_s) * 1e3;
    prediction.difference =
        ExplainDifference(MakeDifference(run, prediction.cost, rest_ms, inputs->slow_share > 0));
  }
  return {std::move(prediction), ""};
}

std::vector<PredictionRow> PredictionRows(const Study& study) {
  std::vector<PredictionRow> rows;
  for (const StrategySummary& strategy : study.strategies) {
    if (!strategy.runs.empty()) rows.push_back(RowOf(study, strategy));
  }
  return rows;
}

}  // namespace crossover::experiments
