// How a Diff is written.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/report/diff.h"
#include "experiments/report/markdown.h"
#include "experiments/report/plain_text.h"
#include "experiments/report/report_tables.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

std::string Signed(double value, const DiffMetric& metric) {
  const std::string size = metric.points ? absl::StrFormat("%.2f points", 100 * std::abs(value))
                                         : metric.format(std::abs(value));
  return absl::StrCat(value > 0 ? "+" : value < 0 ? "-" : "", size);
}

std::string DifferenceText(const DiffRow& row) {
  const DiffMetric& metric = DiffMetrics()[row.metric];
  if (!row.a.has_value() || !row.b.has_value()) return "n/a";
  const PairedDifference& difference = row.difference;
  std::string median = Signed(difference.median, metric);
  const std::string low = Signed(difference.spread.low, metric);
  const std::string high = Signed(difference.spread.high, metric);
  if (low == median && high == median) return median;
  return absl::StrCat(median, " (", low, " to ", high, ")");
}

std::string Percentage(const DiffRow& row) {
  const DiffMetric& metric = DiffMetrics()[row.metric];
  const double part = row.a->median == 0 ? 0 : row.difference.median / std::abs(row.a->median);
  const char* direction = row.difference.median > 0 ? "higher" : "lower";
  if (metric.points || row.a->median == 0) return direction;
  return absl::StrFormat("%.1f%% %s", 100 * std::abs(part), direction);
}

std::string VerdictText(const DiffRow& row) {
  if (!row.a.has_value() || !row.b.has_value()) {
    return absl::StrCat("only ", row.a.has_value() ? "A" : "B", " has it");
  }
  if (row.difference.comparison == Comparison::kUnknown) return "too few to tell";
  return row.exceeds_noise ? absl::StrCat("* ", Percentage(row)) : "within noise";
}

std::string MedianText(const std::optional<FigureSummary>& summary, const DiffMetric& metric) {
  return summary.has_value() ? metric.format(summary->median) : "n/a";
}

Table DiffTable(const DiffStudy& study) {
  Table table{"Figures",
              "",
              {{"Strategy", ""},
               {"Metric", ""},
               {"A", "Median"},
               {"B", "Median"},
               {"B - A", "Median and interval"},
               {"Verdict on B", "* exceeds noise"}},
              {},
              2};
  for (const DiffRow& row : study.rows) {
    const DiffMetric& metric = DiffMetrics()[row.metric];
    table.rows.push_back({row.strategy, metric.name, MedianText(row.a, metric),
                          MedianText(row.b, metric), DifferenceText(row), VerdictText(row)});
  }
  return table;
}

// What the intervals are, and how much chance alone would mark.
std::vector<std::string> Explain(const DiffStudy& study) {
  int fewest = 0, ranges = 0, marked = 0;
  for (const DiffRow& row : study.rows) {
    marked += row.exceeds_noise ? 1 : 0;
    if (!row.a.has_value() || !row.b.has_value()) continue;
    const int runs = std::min(row.a->count, row.b->count);
    fewest = fewest == 0 ? runs : std::min(fewest, runs);
    ranges += row.difference.spread.kind == SpreadKind::kBootstrap95 ? 0 : 1;
  }
  if (study.rows.empty()) return {"No strategy has finished runs on both sides."};
  std::vector<std::string> texts;
  texts.push_back(absl::StrCat(
      marked == 0 ? std::string("No figure differs beyond noise")
                  : absl::StrCat(marked, " of ", study.rows.size(), " figures differ beyond noise"),
      "."));
  if (ranges == 0) {
    texts.push_back(absl::StrFormat(
        "Intervals are bootstrap 95%% intervals of the median difference (%d resamples, seed %d): "
        "chance alone would mark about one figure in 20.",
        kBootstrapResamples, kBootstrapSeed));
  } else if (fewest >= 2) {
    texts.push_back(absl::StrFormat(
        "Intervals are ranges, not confidence intervals, where a side has fewer than %d "
        "repetitions (here %d at least). Chance alone would mark about %.0f%% of the times and "
        "%.0f%% of the other figures whose seeds are paired; %d repetitions give 95%% intervals.",
        kBootstrapRepetitions, fewest, 100 * ChanceOfDisjointRanges(fewest, fewest),
        200 * std::pow(0.5, fewest), kBootstrapRepetitions));
  } else {
    texts.push_back("One repetition tells nothing of chance: no difference can be called one.");
  }
  return texts;
}

std::string Occasion(const Diff& diff) {
  return diff.same_runs
             ? "A and B hold the same runs, so nothing can differ."
             : "A and B were measured at different times: what the machine did meanwhile is in the "
               "differences too.";
}

}  // namespace

std::string DiffText(const Diff& diff) {
  std::string out = absl::StrCat("A  ", Printable(diff.a), "\nB  ", Printable(diff.b), "\n\n");
  const auto list = [&](const std::string& title, const std::vector<std::string>& items) {
    if (items.empty()) {
      absl::StrAppend(&out, title, ": no difference\n");
      return;
    }
    absl::StrAppend(&out, title, "\n");
    for (const std::string& item : items) AppendWrapped("  ", Printable(item), out);
  };
  list("Environment", diff.environment);
  for (const std::string& note : diff.notes) AppendWrapped("note    ", Printable(note), out);
  for (const DiffStudy& study : diff.studies) {
    absl::StrAppend(&out, "\n", Printable(study.title), "\n");
    list("Job", study.job);
    for (const std::string& note : study.notes) AppendWrapped("note    ", Printable(note), out);
    absl::StrAppend(&out, "\n");
    if (!study.rows.empty()) AppendColumns(DiffTable(study), out);
    absl::StrAppend(&out, "\n");
    for (const std::string& text : Explain(study)) AppendWrapped("", text, out);
  }
  AppendWrapped("", Occasion(diff), out);
  return out;
}

std::string DiffMarkdown(const Diff& diff) {
  std::string out = "# Crossover: two comparisons side by side\n\n";
  absl::StrAppend(
      &out, EscapeMarkdown(absl::StrCat(Occasion(diff), " A: ", diff.a, "; B: ", diff.b, ".")),
      "\n\n");
  const auto list = [&](const std::string& title, const std::vector<std::string>& items) {
    absl::StrAppend(&out, "### ", title, "\n\n");
    if (items.empty()) absl::StrAppend(&out, "No difference.\n");
    for (const std::string& item : items) absl::StrAppend(&out, "- ", EscapeMarkdown(item), "\n");
    absl::StrAppend(&out, "\n");
  };
  list("Environment", diff.environment);
  if (!diff.notes.empty()) list("Jobs of one side", diff.notes);
  for (const DiffStudy& study : diff.studies) {
    absl::StrAppend(&out, "## ", EscapeMarkdown(study.title), "\n\n");
    list("Job", study.job);
    if (!study.notes.empty()) list("Notes", study.notes);
    if (!study.rows.empty()) AppendMarkdown(DiffTable(study), out);
    for (const std::string& text : Explain(study)) {
      absl::StrAppend(&out, EscapeMarkdown(text), "\n\n");
    }
  }
  return out;
}

}  // namespace crossover::experiments
