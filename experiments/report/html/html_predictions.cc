#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/prediction/prediction.h"
#include "experiments/prediction/prediction_table.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_sections.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

std::string PredictedCell(const PredictionRow& row, const std::string& key,
                          const std::optional<double>& value) {
  if (!value.has_value()) return TextCell("n/a");
  const Metric& metric = MetricOf(key);
  return absl::StrCat("<td", Attribute("data-strategy", row.strategy),
                      Attribute("data-metric", key), Attribute("data-value", *value),
                      Attribute("title", metric.definition), ">", metric.format(*value), "</td>");
}

std::string ReasonCell(const PredictionRow& row) {
  if (!row.predicted_step_ms.has_value()) return TextCell(row.formula);
  return TextCell(row.difference.empty() ? "they agree" : row.difference);
}

}  // namespace

std::string PredictionSection(const Study& study) {
  const std::string why_none = WhyNothingIsPredicted(study);
  if (!why_none.empty()) return Note(absl::StrCat("Nothing is predicted: ", why_none, "."));
  HtmlTable table;
  table.headings = {"Strategy",
                    Term("step_ms_mean"),
                    Term("predicted_step_ms"),
                    Term("communication_share"),
                    Term("predicted_share"),
                    "Likely reason where they part"};
  std::string formulas;
  for (const PredictionRow& row : PredictionRows(study)) {
    const StrategySummary& strategy = *FindStrategy(study, row.strategy);
    table.rows.push_back(
        {StrategyCell(row.strategy), FigureCell(strategy, MetricOf("step_ms_mean")),
         PredictedCell(row, "predicted_step_ms", row.predicted_step_ms),
         FigureCell(strategy, MetricOf("communication_share")),
         PredictedCell(row, "predicted_share", row.predicted_share), ReasonCell(row)});
    if (!row.predicted_step_ms.has_value()) continue;
    absl::StrAppend(&formulas, "<p>", StrategyNameHtml(row.strategy), ": ", EscapeHtml(row.formula),
                    "</p>\n");
  }
  if (formulas.empty()) return "";
  return absl::StrCat(
      Note(absl::StrCat("What the published cost formulas expect from the probed link and the "
                        "single run, beside what was measured. They agree where step and share "
                        "are within ",
                        FormatPercent(kAgreement), " of each other; reasons are found by rules.")),
      TableHtml(table), Details("The formulas with their figures, of the typical runs", formulas));
}

}  // namespace crossover::experiments
