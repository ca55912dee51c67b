#include "experiments/prediction/prediction_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "experiments/prediction/prediction.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

bool AnyPredicted(const std::vector<PredictionRow>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const PredictionRow& row) { return row.predicted_step_ms.has_value(); });
}

std::string OrNone(const std::optional<double>& value, NumberFormat format) {
  return value.has_value() ? format(*value) : "n/a";
}

std::string Agreement(const PredictionRow& row) {
  if (!row.predicted_step_ms.has_value()) return row.formula;
  return row.difference.empty() ? "they agree" : row.difference;
}

}  // namespace

std::vector<Table> PredictionTables(const Study& study) {
  const std::vector<PredictionRow> rows = PredictionRows(study);
  if (!AnyPredicted(rows)) return {};
  Table figures{
      "Measured and predicted",
      absl::StrCat("Predicted by the published cost formulas from the probed link and the single "
                   "run; they agree where step and share are within ",
                   FormatPercent(kAgreement), " of each other."),
      {{"Strategy", ""},
       {"Step mean ms", "Mean length of a step, over ranks and measured steps."},
       {"Predicted ms", "The same by the cost formulas."},
       {"Communication share", "Exposed communication over step time."},
       {"Predicted share", "The same by the cost formulas."},
       {"Likely reason where they part", "By rules from the run's own figures; not a proof."}},
      {}};
  Table formulas{"The formulas with their figures",
                 "Of each strategy's typical run.",
                 {{"Strategy", ""}, {"Formula", ""}},
                 {}};
  for (const PredictionRow& row : rows) {
    figures.rows.push_back({row.strategy, FormatNumber(row.measured_step_ms),
                            OrNone(row.predicted_step_ms, FormatNumber),
                            FormatPercent(row.measured_share),
                            OrNone(row.predicted_share, FormatPercent), Agreement(row)});
    if (row.predicted_step_ms.has_value()) formulas.rows.push_back({row.strategy, row.formula});
  }
  return {std::move(figures), std::move(formulas)};
}

std::vector<std::string> PredictionSentences(const Study& study) {
  std::vector<std::string> sentences;
  for (const PredictionRow& row : PredictionRows(study)) {
    if (!row.predicted_step_ms.has_value()) continue;
    sentences.push_back(absl::StrCat(
        row.strategy, ": step ", FormatNumber(row.measured_step_ms), " ms, predicted ",
        FormatNumber(*row.predicted_step_ms), "; share ", FormatPercent(row.measured_share),
        ", predicted ", OrNone(row.predicted_share, FormatPercent), "; ", Agreement(row)));
  }
  return sentences;
}

std::string WhyNothingIsPredicted(const Study& study) {
  const std::vector<PredictionRow> rows = PredictionRows(study);
  if (AnyPredicted(rows) || rows.empty()) return "";
  // The base case says nothing of the others.
  const auto row = std::find_if(rows.begin(), rows.end(), [](const PredictionRow& candidate) {
    return candidate.strategy != "single";
  });
  return row == rows.end() ? "" : row->formula;
}

}  // namespace crossover::experiments
