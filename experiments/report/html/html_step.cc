#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_axis.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_sections.h"
#include "experiments/report/html/html_stacked_bar.h"
#include "experiments/report/html/html_step_picture.h"
#include "experiments/report/html/html_style.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

struct Part {
  const char* name;
  const char* phase;
  const char* key;
};

// In the order in which a step goes through them.
constexpr Part kParts[] = {
    {"data", "data", "breakdown.data_ms"},
    {"compute", "compute", "breakdown.compute_ms"},
    {"exposed transfer", "transfer", "breakdown.exposed_transfer_ms"},
    {"exposed wait", "wait", "breakdown.exposed_wait_ms"},
    {"apply", "apply", "breakdown.apply_ms"},
    {"not accounted for", "other", "breakdown.other_ms"},
};

double PartMs(const RunResult& run, const Part& part) {
  return Drawable(MetricOf(part.key).figure(run).value_or(0));
}

std::string BreakdownDrawing(const RunResult& run, double longest_ms) {
  std::vector<BarSegment> segments;
  double end_ms = 0, compute_end_ms = 0;
  for (const Part& part : kParts) {
    const double ms = PartMs(run, part);
    segments.push_back({part.name, part.phase, ms, RunData(run, part.key, ms)});
    end_ms += ms;
    if (part.phase == std::string("compute")) compute_end_ms = end_ms;
  }
  std::string out = StackedBar(segments, longest_ms, 24);
  const double hidden_ms = std::min(Drawable(run.hidden_ms), compute_end_ms);
  if (hidden_ms <= 0) return out;
  absl::StrAppend(
      &out, "<svg class=\"hidden-line\" width=\"100%\" height=\"6\">",
      Rect((compute_end_ms - hidden_ms) / longest_ms, hidden_ms / longest_ms, 0, 6,
           PhaseColor("transfer"),
           absl::StrCat("hidden communication: ", FormatNumber(hidden_ms), " ms beneath compute")),
      "</svg>");
  return out;
}

std::string BreakdownChart(const std::vector<const StrategySummary*>& strategies) {
  double longest_ms = 0;
  for (const StrategySummary* strategy : strategies) {
    double total_ms = 0;
    for (const Part& part : kParts) total_ms += PartMs(*TypicalRun(*strategy), part);
    longest_ms = std::max(longest_ms, total_ms);
  }
  if (longest_ms <= 0) return "";
  const Axis axis = MakeAxis(0, longest_ms, 5);
  std::string rows;
  for (const StrategySummary* strategy : strategies) {
    const RunResult& run = *TypicalRun(*strategy);
    absl::StrAppend(
        &rows,
        BarRow(StrategyNameHtml(strategy->strategy), BreakdownDrawing(run, axis.high),
               absl::StrCat("<b", RunAttributes(run, "step_ms_mean", run.step_ms_mean), ">",
                            FormatNumber(run.step_ms_mean), " ms</b>, <span",
                            RunAttributes(run, "communication_share", run.communication_share), ">",
                            FormatPercent(run.communication_share), " exposed</span>")));
  }
  return absl::StrCat(PhaseLegend({{"data", "data"},
                                   {"compute", "compute"},
                                   {"exposed transfer", "transfer"},
                                   {"exposed wait", "wait"},
                                   {"apply", "apply"},
                                   {"not accounted for", "other"},
                                   {"thin line below: hidden communication", "transfer"}}),
                      BarChart(axis, "ms", rows));
}

std::string BreakdownTable(const std::vector<const StrategySummary*>& strategies) {
  HtmlTable table;
  table.headings = {"Strategy", "Repetition", Term("step_ms_mean")};
  for (const Part& part : kParts) table.headings.push_back(Term(part.key));
  table.headings.push_back(Term("coverage"));
  for (const StrategySummary* strategy : strategies) {
    const RunResult& run = *TypicalRun(*strategy);
    std::vector<std::string>& row = table.rows.emplace_back();
    row = {StrategyCell(strategy->strategy), absl::StrCat("<td>", run.repetition + 1, "</td>"),
           RunCell(run, "step_ms_mean", run.step_ms_mean)};
    for (const Part& part : kParts) {
      row.push_back(RunCell(run, part.key, MetricOf(part.key).figure(run).value_or(0)));
    }
    row.push_back(RunCell(run, "coverage", run.coverage));
  }
  return TableHtml(table);
}

}  // namespace

std::string StepSection(const Study& study) {
  const std::vector<const StrategySummary*> strategies = Succeeded(study);
  if (strategies.empty()) return "";
  const std::string pictures = StepPictures(study);
  return absl::StrCat(
      "<figure><figcaption>The mean step of each strategy's typical run (the one with the median "
      "throughput), over ranks and measured steps; the parts do not overlap and add up to it. "
      "Hidden communication runs beneath compute and costs no time. A worker of an asynchronous "
      "strategy makes its step while the others make theirs.</figcaption>\n",
      BreakdownChart(strategies), "</figure>\n<h4>Over all repetitions</h4>\n",
      StrategyTable(strategies, {"step_ms_median", "step_ms_p95", "communication_share", "overlap",
                                 "exposed_ms", "hidden_ms", "wait_ms", "transfer_ms"}),
      Details("The parts as numbers, of the typical run", BreakdownTable(strategies)),
      pictures.empty() ? "" : Details("One step of all ranks, as it was recorded", pictures));
}

}  // namespace crossover::experiments
