#include "experiments/report/paired_table.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/results/format.h"
#include "experiments/results/statistics.h"

namespace crossover::experiments {
namespace {

std::string Signed(double value, NumberFormat format) {
  return absl::StrCat(value > 0 ? "+" : value < 0 ? "-" : "", format(std::abs(value)));
}

std::string Points(double fraction) { return absl::StrFormat("%.2f points", 100 * fraction); }

std::string Write(const PairedDifference& difference, NumberFormat format) {
  if (difference.pairs == 0) return "n/a";
  std::string text = Signed(difference.median, format);
  if (difference.pairs > 1) {
    absl::StrAppend(&text, " (", Signed(difference.spread.low, format), " to ",
                    Signed(difference.spread.high, format), ")");
  }
  switch (difference.comparison) {
    case Comparison::kHigher:
      return absl::StrCat(text, ", higher");
    case Comparison::kLower:
      return absl::StrCat(text, ", lower");
    case Comparison::kTie:
      return absl::StrCat(text, ", tie");
    case Comparison::kUnknown:
      return absl::StrCat(text, ", too few to tell");
  }
  return text;
}

const StrategySummary* Reference(const Study& study) {
  const StrategySummary* single = FindStrategy(study, "single");
  if (single != nullptr && !single->runs.empty()) return single;
  const StrategySummary* fastest = nullptr;
  double best = 0;
  for (const StrategySummary& strategy : study.strategies) {
    const std::optional<FigureSummary> figure = Summarize(strategy, Throughput);
    if (!figure.has_value() || (fastest != nullptr && figure->median <= best)) continue;
    fastest = &strategy;
    best = figure->median;
  }
  return fastest;
}

}  // namespace

std::optional<Table> PairedTable(const Study& study) {
  const StrategySummary* reference = Reference(study);
  if (reference == nullptr) return std::nullopt;
  Table table{absl::StrCat("Paired differences against ", reference->strategy),
              absl::StrCat("Repetition by repetition, which met the same conditions: median and ",
                           DescribeSpread(static_cast<int>(reference->runs.size())),
                           ". A tie is where that holds 0."),
              {{"Strategy", ""},
               {"Samples/s", "Its samples/s less the reference's."},
               {"Test accuracy", "Its accuracy at the end less the reference's, seed by seed."}},
              {}};
  for (const StrategySummary& strategy : study.strategies) {
    if (&strategy == reference || strategy.runs.empty()) continue;
    const auto compare = [&](const Figure& figure) {
      return Compare(ByRepetition(strategy, figure), ByRepetition(*reference, figure));
    };
    table.rows.push_back({strategy.strategy, Write(compare(Throughput), FormatNumber),
                          Write(compare(TestAccuracy), Points)});
  }
  if (table.rows.empty()) return std::nullopt;
  return table;
}

}  // namespace crossover::experiments
