#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_axis.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_metric_bars.h"
#include "experiments/report/html/html_sections.h"
#include "experiments/results/format.h"
#include "experiments/results/statistics.h"

namespace crossover::experiments {
namespace {

// With a plus sign, and a minus sign as long as it.
std::string Signed(double value) {
  const std::string digits = FormatNumber(std::abs(value));
  return value < 0 ? absl::StrCat("\u2212", digits) : absl::StrCat("+", digits);
}

// The strategy with the best median of those that synchronise; of all if none does.
const StrategySummary* Reference(const std::vector<const StrategySummary*>& strategies) {
  const StrategySummary* best = nullptr;
  double best_median = 0;
  for (const bool with_single : {false, true}) {
    for (const StrategySummary* strategy : strategies) {
      if (!with_single && strategy->strategy == "single") continue;
      const auto summary = Summarize(*strategy, Throughput);
      if (!summary.has_value() || (best != nullptr && summary->median <= best_median)) continue;
      best = strategy;
      best_median = summary->median;
    }
    if (best != nullptr) return best;
  }
  return best;
}

struct Difference {
  const StrategySummary* strategy;
  PairedDifference paired;
};

const char* Outcome(Comparison comparison) {
  switch (comparison) {
    case Comparison::kHigher:
      return "faster";
    case Comparison::kLower:
      return "slower";
    case Comparison::kTie:
      return "a tie";
    case Comparison::kUnknown:
      return "one pair: not known";
  }
  return "";
}

std::string DifferenceRow(const Difference& difference, const StrategySummary& reference,
                          const Axis& axis) {
  const PairedDifference& paired = difference.paired;
  const std::string low = Percent(axis.At(paired.spread.low));
  const std::string high = Percent(axis.At(paired.spread.high));
  const std::string zero = Percent(axis.At(0)), middle = Percent(axis.At(paired.median));
  const std::string drawing = absl::StrCat(
      "<svg width=\"100%\" height=\"22\" aria-hidden=\"true\"><line class=\"zero\" x1=\"", zero,
      "\" x2=\"", zero, "\" y1=\"-3\" y2=\"25\"/><g class=\"interval\"><line x1=\"", low,
      "\" x2=\"", high, "\" y1=\"11\" y2=\"11\"/><line x1=\"", low, "\" x2=\"", low,
      "\" y1=\"6\" y2=\"16\"/><line x1=\"", high, "\" x2=\"", high,
      "\" y1=\"6\" y2=\"16\"/></g><circle class=\"median\" cx=\"", middle,
      "\" cy=\"11\" r=\"4\"/></svg>");
  const Metric& metric = MetricOf("paired_difference");
  return BarRow(
      StrategyNameHtml(difference.strategy->strategy), drawing,
      absl::StrCat(
          "<span", Attribute("data-strategy", difference.strategy->strategy),
          Attribute("data-metric", metric.key), Attribute("data-reference", reference.strategy),
          Attribute("data-value", paired.median), Attribute("data-low", paired.spread.low),
          Attribute("data-high", paired.spread.high), Attribute("title", metric.definition), "><b>",
          Outcome(paired.comparison), "</b> ", Signed(paired.median), " <small>(",
          Signed(paired.spread.low), " to ", Signed(paired.spread.high), ")</small></span>"));
}

std::string Differences(const std::vector<const StrategySummary*>& strategies) {
  const StrategySummary* reference = Reference(strategies);
  if (reference == nullptr) return "";
  std::vector<Difference> differences;
  double low = 0, high = 0;
  int pairs = 0;
  for (const StrategySummary* strategy : strategies) {
    if (strategy == reference) continue;
    const PairedDifference paired =
        Compare(ByRepetition(*strategy, Throughput), ByRepetition(*reference, Throughput));
    if (paired.pairs == 0) continue;
    differences.push_back({strategy, paired});
    low = std::min({low, paired.spread.low, paired.median});
    high = std::max({high, paired.spread.high, paired.median});
    pairs = std::max(pairs, paired.pairs);
  }
  if (differences.empty()) return "";
  const double margin = .03 * (high - low);
  const Axis axis = MakeAxis(low - margin, high + margin, 4);
  std::string rows;
  for (const Difference& difference : differences) {
    absl::StrAppend(&rows, DifferenceRow(difference, *reference, axis));
  }
  return absl::StrCat(
      "<figure><h4>", Term("paired_difference", "Difference"), " from ",
      EscapeHtml(reference->strategy), "</h4><figcaption>Samples/s less those of ",
      EscapeHtml(reference->strategy), " in the same repetition: dot, median; line, ",
      DescribeSpread(pairs),
      ". A line that crosses zero is a tie: the repetitions do not tell the two apart. No "
      "correction is made for comparing several.</figcaption>\n",
      BarChart(axis, "samples/s", rows), "</figure>\n");
}

// Median over single's median: the one figure that needs two strategies.
std::string SpeedUps(const Study& study, const std::vector<const StrategySummary*>& strategies) {
  const StrategySummary* single = FindStrategy(study, "single");
  const auto base = single == nullptr ? std::nullopt : Summarize(*single, Throughput);
  HtmlTable table;
  table.headings = {"Strategy", "Runs", Term("samples_per_second")};
  if (base.has_value()) table.headings.push_back(Term("speed_up"));
  for (const StrategySummary* strategy : strategies) {
    std::vector<std::string>& row = table.rows.emplace_back();
    const size_t started = strategy->runs.size() + strategy->failed.size();
    row = {StrategyCell(strategy->strategy),
           absl::StrCat("<td>", strategy->runs.size(), " of ", started, "</td>"),
           FigureCell(*strategy, MetricOf("samples_per_second"))};
    const auto own = Summarize(*strategy, Throughput);
    if (!base.has_value() || !own.has_value()) continue;
    const double ratio = own->median / base->median;
    row.push_back(absl::StrCat("<td", Attribute("data-strategy", strategy->strategy),
                               Attribute("data-metric", "speed_up"), Attribute("data-value", ratio),
                               Attribute("title", MetricOf("speed_up").definition), ">",
                               FormatNumber(ratio), "</td>"));
  }
  return TableHtml(table);
}

}  // namespace

std::string ThroughputSection(const Study& study) {
  const std::vector<const StrategySummary*> strategies = Succeeded(study);
  if (strategies.empty()) return "";
  return absl::StrCat("<figure><figcaption>", Term("samples_per_second"),
                      " of all workers after the warm-up (the first ",
                      strategies[0]->runs[0]->warmup_steps_left_out, " steps): bar, median; ",
                      DescribeBars(study), "</figcaption>\n",
                      MetricBars(study, MetricOf("samples_per_second"), "samples/s"), "</figure>\n",
                      Differences(strategies),
                      Details("As numbers, with runs and speed-up", SpeedUps(study, strategies)));
}

}  // namespace crossover::experiments
