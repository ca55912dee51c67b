#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_axis.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_sections.h"
#include "experiments/report/html/html_stacked_bar.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

// Who it is, by how much and where; HTML.
std::string StragglerSentence(const RunResult& run) {
  if (!run.straggler.has_value()) return "No straggler: nobody was last.";
  const StragglerFigures& straggler = *run.straggler;
  const auto figure = [&](const char* key, double value, const std::string& text) {
    return absl::StrCat("<span", RunAttributes(run, key, value), ">", EscapeHtml(text), "</span>");
  };
  std::string out = absl::StrCat(Term("straggler.rank"), ": ",
                                 figure("straggler.rank", static_cast<double>(straggler.rank),
                                        absl::StrCat("worker ", straggler.rank)),
                                 " \u25c0, ");
  if (straggler.share_of_steps.has_value()) {
    absl::StrAppend(&out, "last in ",
                    figure("straggler.share_of_steps", *straggler.share_of_steps,
                           FormatPercent(*straggler.share_of_steps)),
                    " of steps (by chance ",
                    FormatPercent(1.0 / static_cast<double>(std::max<int64_t>(run.workers, 1))),
                    ") and then ",
                    figure("straggler.excess_ms", straggler.excess_ms,
                           FormatNumber(straggler.excess_ms) + " ms"),
                    " behind the median of the others");
  } else {
    absl::StrAppend(&out, "the lowest samples/s; nobody waits for it, its mean step is ",
                    figure("straggler.excess_ms", straggler.excess_ms,
                           FormatNumber(straggler.excess_ms) + " ms"),
                    " longer than the median of the others'");
  }
  absl::StrAppend(
      &out,
      straggler.phase == "none" ? std::string()
                                : absl::StrCat(", most of it in ", EscapeHtml(straggler.phase)),
      straggler.within_clock_error ? "; within the clocks' error, so it says nothing" : "", ".");
  return out;
}

std::vector<BarSegment> Segments(const RunResult& run, const WorkerFigures& worker) {
  const double exposed_ms = Drawable(worker.exposed_ms_median);
  const double compute_ms = Drawable(worker.compute_ms_median);
  const double rest_ms = Drawable(worker.step_ms_median - compute_ms - exposed_ms);
  return {{"compute, median", "compute", compute_ms,
           absl::StrCat(Attribute("data-rank", static_cast<double>(worker.rank)),
                        RunData(run, "worker_figures.compute_ms_median", compute_ms))},
          {"exposed communication, median", "transfer", exposed_ms,
           absl::StrCat(Attribute("data-rank", static_cast<double>(worker.rank)),
                        RunData(run, "worker_figures.exposed_ms_median", exposed_ms))},
          {"rest of the median step", "other", rest_ms, ""}};
}

double Longest(const RunResult& run) {
  double longest_ms = 0;
  for (const WorkerFigures& worker : run.worker_figures) {
    double total_ms = 0;
    for (const BarSegment& segment : Segments(run, worker)) total_ms += segment.ms;
    longest_ms = std::max(longest_ms, total_ms);
  }
  return longest_ms;
}

std::string RankChart(const RunResult& run, const Axis& axis) {
  std::string rows;
  for (const WorkerFigures& worker : run.worker_figures) {
    const bool is_last = run.straggler.has_value() && run.straggler->rank == worker.rank;
    const std::string name = absl::StrCat("worker ", worker.rank);
    absl::StrAppend(
        &rows,
        BarRow(is_last ? absl::StrCat("<strong>", name, " \u25c0</strong>") : name,
               StackedBar(Segments(run, worker), axis.high, 18, 200),
               absl::StrCat("<span",
                            RankAttributes(run, worker.rank, "worker_figures.samples_per_second",
                                           worker.samples_per_second),
                            ">", FormatNumber(worker.samples_per_second), " samples/s</span>")));
  }
  return absl::StrCat("<figure><h4>", StrategyNameHtml(run.strategy), "</h4><figcaption>",
                      StragglerSentence(run), "</figcaption>\n", BarChart(axis, "ms", rows),
                      "</figure>\n");
}

std::string MemoryCell(const RunResult& run, size_t process) {
  return TextCell(process < run.processes.size()
                      ? FormatBytes(static_cast<double>(run.processes[process].peak_rss_bytes))
                      : "n/a");
}

std::string WorkerTable(const std::vector<const StrategySummary*>& strategies) {
  HtmlTable table;
  table.headings = {"Strategy",
                    "Rank",
                    "Host",
                    Term("worker_figures.samples_per_second", "Samples/s"),
                    Term("worker_figures.step_ms_median", "Step ms"),
                    Term("worker_figures.compute_ms_median", "Compute ms"),
                    Term("worker_figures.exposed_ms_median", "Exposed ms"),
                    Term("worker_figures.wait_ms_median", "Wait ms"),
                    "Peak memory"};
  for (const StrategySummary* strategy : strategies) {
    const RunResult& run = *TypicalRun(*strategy);
    for (size_t i = 0; i < run.worker_figures.size(); ++i) {
      const WorkerFigures& worker = run.worker_figures[i];
      const auto cell = [&](const char* key, double value) {
        return RankCell(run, worker.rank, key, value);
      };
      table.rows.push_back({StrategyCell(strategy->strategy),
                            absl::StrCat("<td>", worker.rank, "</td>"), TextCell(worker.host),
                            cell("worker_figures.samples_per_second", worker.samples_per_second),
                            cell("worker_figures.step_ms_median", worker.step_ms_median),
                            cell("worker_figures.compute_ms_median", worker.compute_ms_median),
                            cell("worker_figures.exposed_ms_median", worker.exposed_ms_median),
                            cell("worker_figures.wait_ms_median", worker.wait_ms_median),
                            MemoryCell(run, i)});
    }
  }
  return table.rows.empty() ? "" : "<h4>Workers</h4>\n" + TableHtml(table);
}

std::string ServerTable(const std::vector<const StrategySummary*>& strategies) {
  HtmlTable table;
  table.headings = {"Strategy",
                    "Rank",
                    "Host",
                    Term("server_figures.parameter_bytes", "Parameters"),
                    Term("server_figures.state_bytes", "State"),
                    Term("server_figures.apply_ms_per_step", "Apply ms/step"),
                    Term("server_figures.pushes", "Pushes"),
                    "Peak memory"};
  for (const StrategySummary* strategy : strategies) {
    const RunResult& run = *TypicalRun(*strategy);
    for (size_t i = 0; i < run.server_figures.size(); ++i) {
      const ServerFigures& server = run.server_figures[i];
      const auto cell = [&](const char* key, double value) {
        return RankCell(run, server.rank, key, value);
      };
      table.rows.push_back(
          {StrategyCell(strategy->strategy), absl::StrCat("<td>", server.rank, "</td>"),
           TextCell(server.host),
           cell("server_figures.parameter_bytes", static_cast<double>(server.parameter_bytes)),
           cell("server_figures.state_bytes", static_cast<double>(server.state_bytes)),
           cell("server_figures.apply_ms_per_step", server.apply_ms_per_step),
           cell("server_figures.pushes", static_cast<double>(server.pushes)),
           MemoryCell(run, run.worker_figures.size() + i)});
    }
  }
  return table.rows.empty() ? "" : "<h4>Servers</h4>\n" + TableHtml(table);
}

}  // namespace

std::string RanksSection(const Study& study) {
  const std::vector<const StrategySummary*> strategies = Succeeded(study);
  std::string charts;
  double longest_ms = 0;
  for (const StrategySummary* strategy : strategies) {
    longest_ms = std::max(longest_ms, Longest(*TypicalRun(*strategy)));
  }
  const Axis axis = MakeAxis(0, longest_ms, 4);
  for (const StrategySummary* strategy : strategies) {
    const RunResult& run = *TypicalRun(*strategy);
    if (run.worker_figures.size() > 1) absl::StrAppend(&charts, RankChart(run, axis));
  }
  const std::string tables = WorkerTable(strategies) + ServerTable(strategies);
  if (charts.empty() && tables.empty()) return "";
  std::string out;
  if (!charts.empty()) {
    out = absl::StrCat(
        Note("Of each strategy's typical run: medians over each worker's measured steps, all on "
             "one axis. Medians of parts need not add up to the median step. With equal ranks "
             "someone is always most often last."),
        PhaseLegend({{"compute", "compute"},
                     {"exposed communication, wait included", "transfer"},
                     {"rest", "other"}}),
        "<div class=\"columns\">", charts, "</div>\n");
  }
  return absl::StrCat(out, Details("Each worker and server as numbers", tables));
}

}  // namespace crossover::experiments
