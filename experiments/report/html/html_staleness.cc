#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_axis.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_sections.h"
#include "experiments/report/html/html_style.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

double PushesOf(const StalenessFigures& staleness) {
  double pushes = 0;
  for (const int64_t count : staleness.histogram) pushes += static_cast<double>(count);
  return pushes;
}

// One row for each staleness: its share of the pushes as a bar from zero.
std::string Histogram(const RunResult& run) {
  const std::vector<int64_t>& slots = run.staleness.histogram;
  const double pushes = PushesOf(run.staleness);
  int64_t last = 0, largest = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] > 0) last = static_cast<int64_t>(i);
    largest = std::max(largest, slots[i]);
  }
  const Axis axis = MakeAxis(0, 100 * static_cast<double>(largest) / pushes, 4);
  std::string rows;
  for (int64_t i = 0; i <= last; ++i) {
    const double part = static_cast<double>(slots[i]) / pushes;
    const bool is_open = i + 1 == static_cast<int64_t>(slots.size());
    const std::string text = FormatPercent(part);
    absl::StrAppend(
        &rows, BarRow(absl::StrCat(i, is_open ? " or more" : ""),
                      absl::StrCat("<svg width=\"100%\" height=\"14\" aria-hidden=\"true\">",
                                   Rect(0, axis.At(100 * part), 1, 12, LookOf(run.strategy).color,
                                        absl::StrCat("staleness ", i, ": ", text)),
                                   "</svg>"),
                      absl::StrCat("<span", Attribute("data-slot", static_cast<double>(i)),
                                   RunAttributes(run, "staleness.histogram", part), ">", text,
                                   "</span>")));
  }
  return absl::StrCat("<figure class=\"histogram\"><h4>", StrategyNameHtml(run.strategy), "</h4>\n",
                      BarChart(axis, "% of pushes", rows), "</figure>\n");
}

std::string HeldTable(const std::vector<const StrategySummary*>& strategies) {
  HtmlTable table;
  table.headings = {"Strategy", "Rank", Term("worker_figures.held_replies"),
                    Term("worker_figures.held_ms")};
  for (const StrategySummary* strategy : strategies) {
    const RunResult& run = *TypicalRun(*strategy);
    for (const WorkerFigures& worker : run.worker_figures) {
      if (worker.held_replies == 0) continue;
      table.rows.push_back({StrategyCell(strategy->strategy),
                            absl::StrCat("<td>", worker.rank, "</td>"),
                            RankCell(run, worker.rank, "worker_figures.held_replies",
                                     static_cast<double>(worker.held_replies)),
                            RankCell(run, worker.rank, "worker_figures.held_ms", worker.held_ms)});
    }
  }
  if (table.rows.empty()) return "";
  return Details("Replies that a staleness bound held back, of the typical run", TableHtml(table));
}

}  // namespace

std::string StalenessSection(const Study& study) {
  std::vector<const StrategySummary*> served;
  bool some_late = false;
  std::string histograms, fresh;
  for (const StrategySummary* strategy : Succeeded(study)) {
    const RunResult& run = *TypicalRun(*strategy);
    if (run.servers == 0) continue;
    served.push_back(strategy);
    some_late = some_late || run.late_pushes > 0;
    if (PushesOf(run.staleness) <= 0) continue;
    if (run.staleness.max == 0) {
      absl::StrAppend(&fresh, fresh.empty() ? "" : ", ", strategy->strategy);
    } else {
      absl::StrAppend(&histograms, Histogram(run));
    }
  }
  if (served.empty()) return "";
  std::string out = Note(
      "How old the parameters were that a gradient was computed from, counted in versions that "
      "the server had applied since. Strategies without servers have none. Bars are of the "
      "typical run.");
  if (!fresh.empty()) {
    absl::StrAppend(&out, "<p>Every push of ", EscapeHtml(fresh), " had staleness 0.</p>\n");
  }
  if (!histograms.empty()) absl::StrAppend(&out, "<div class=\"columns\">", histograms, "</div>\n");
  std::vector<std::string> metrics = {"staleness.mean", "staleness.max", "lead_steps_max"};
  if (some_late) metrics.emplace_back("late_pushes");
  return absl::StrCat(out, StrategyTable(served, metrics), HeldTable(served));
}

}  // namespace crossover::experiments
