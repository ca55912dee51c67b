#include "experiments/report/html/html_metric_bars.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_axis.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_style.h"

namespace crossover::experiments {
namespace {

std::string Whisker(const Axis& axis, const Spread& spread) {
  const std::string low = Percent(axis.At(spread.low)), high = Percent(axis.At(spread.high));
  std::string lines =
      absl::StrCat("<line x1=\"", low, "\" x2=\"", high, "\" y1=\"12\" y2=\"12\"/>");
  for (const std::string& end : {low, high}) {
    absl::StrAppend(&lines, "<line x1=\"", end, "\" x2=\"", end, "\" y1=\"6\" y2=\"18\"/>");
  }
  return absl::StrCat("<g class=\"halo\">", lines, "</g><g class=\"whisker\">", lines, "</g>");
}

std::string Bar(const StrategySummary& strategy, const Metric& metric, const FigureSummary& summary,
                const Axis& axis) {
  const std::string text = FormatFigure(strategy, metric.figure, metric.format);
  std::string out =
      absl::StrCat("<svg width=\"100%\" height=\"24\" aria-hidden=\"true\">",
                   Rect(0, axis.At(summary.median), 2, 20, LookOf(strategy.strategy).color,
                        absl::StrCat(strategy.strategy, ": ", text, " ", metric.name)));
  if (summary.count < 2) return out + "</svg>";
  absl::StrAppend(&out, Whisker(axis, summary.spread));
  for (const auto& [repetition, value] : ByRepetition(strategy, metric.figure)) {
    absl::StrAppend(&out, "<circle class=\"dot\" cx=\"", Percent(axis.At(value)),
                    "\" cy=\"12\" r=\"3\"><title>repetition ", repetition + 1, ": ",
                    EscapeHtml(metric.format(value)), "</title></circle>");
  }
  return out + "</svg>";
}

}  // namespace

std::string MetricBars(const Study& study, const Metric& metric, const std::string& unit) {
  double largest = 0;
  for (const StrategySummary& strategy : study.strategies) {
    for (const auto& [repetition, value] : ByRepetition(strategy, metric.figure)) {
      largest = std::max(largest, value);
    }
  }
  if (largest <= 0) return "";
  const Axis axis = MakeAxis(0, largest, 5);
  std::string rows;
  for (const StrategySummary& strategy : study.strategies) {
    const auto summary = Summarize(strategy, metric.figure);
    if (!summary.has_value()) {
      absl::StrAppend(&rows, BarRow(StrategyNameHtml(strategy.strategy), "",
                                    strategy.runs.empty() ? "failed" : "none"));
      continue;
    }
    const std::string text = FormatFigure(strategy, metric.figure, metric.format);
    const size_t spread = text.find(" (");
    std::string value = absl::StrCat("<span", FigureAttributes(strategy, metric), "><b>",
                                     EscapeHtml(text.substr(0, spread)), "</b>");
    if (spread != std::string::npos) {
      absl::StrAppend(&value, " <small>", EscapeHtml(text.substr(spread + 1)), "</small>");
    }
    absl::StrAppend(&rows, BarRow(StrategyNameHtml(strategy.strategy),
                                  Bar(strategy, metric, *summary, axis), value + "</span>"));
  }
  return BarChart(axis, unit, rows);
}

std::string DescribeBars(const Study& study) {
  int most = 0;
  for (const StrategySummary& strategy : study.strategies) {
    most = std::max(most, static_cast<int>(strategy.runs.size()));
  }
  if (most < 2) return "one repetition, so nothing is known of the spread.";
  return absl::StrCat("whisker, ", DescribeSpread(most), "; dots, each repetition.");
}

}  // namespace crossover::experiments
