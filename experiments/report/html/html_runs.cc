#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_sections.h"

namespace crossover::experiments {
namespace {

constexpr const char* kKeys[] = {"samples_per_second", "step_ms_mean", "communication_share",
                                 "test_accuracy",      "training_s",   "wall_s",
                                 "clock_error_ms"};

std::vector<std::string> Row(const RunResult& run) {
  std::vector<std::string> row = {StrategyCell(run.strategy),
                                  absl::StrCat("<td>", run.repetition + 1, "</td>"),
                                  TextCell(run.start_time)};
  for (const char* key : kKeys) {
    const std::optional<double> value = run.ok() ? MetricOf(key).figure(run) : std::nullopt;
    row.push_back(value.has_value() ? RunCell(run, key, *value) : TextCell("n/a"));
  }
  row.push_back(absl::StrCat("<td><code>", EscapeHtml(run.parameter_fingerprint), "</code></td>"));
  row.push_back(TextCell(run.ok() ? "" : "failed: " + run.failure));
  return row;
}

}  // namespace

std::string RunsSection(const Study& study) {
  HtmlTable table;
  table.headings = {"Strategy", "Repetition", "Started"};
  for (const char* key : kKeys) table.headings.push_back(Term(key));
  table.headings.push_back("Parameters");
  table.headings.push_back("");
  for (const RunResult* run : study.all()) table.rows.push_back(Row(*run));
  return absl::StrCat(
      Note("Each line is one line of results.jsonl beside this page. Repetitions interleave the "
           "strategies. Equal fingerprints of the parameters mean equal bits."),
      Details(absl::StrCat("All ", table.rows.size(), " runs"), TableHtml(table)));
}

}  // namespace crossover::experiments
