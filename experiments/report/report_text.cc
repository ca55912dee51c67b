#include "experiments/report/report_text.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/prediction/prediction_table.h"
#include "experiments/report/plain_text.h"
#include "experiments/report/tuning_table.h"
#include "experiments/report/verdict.h"
#include "experiments/results/format.h"
#include "experiments/results/summary.h"

namespace crossover::experiments {
namespace {

std::string Cell(const StrategySummary& strategy, const Figure& figure, NumberFormat format) {
  const std::optional<FigureSummary> summary = Summarize(strategy, figure);
  return summary.has_value() ? format(summary->median) : "-";
}

void AppendRow(const std::vector<std::string>& cells, std::string& out) {
  constexpr int kWidths[] = {5, 10, 9, 9, 7, 8, 10, 8, 9};
  std::string row = absl::StrFormat("%-15s", cells[0].substr(0, 15));
  for (size_t i = 1; i < cells.size(); ++i) {
    absl::StrAppend(&row, absl::StrFormat(" %*s", kWidths[i - 1], cells[i]));
  }
  absl::StrAppend(&out, row, "\n");
}

// Of a mean worker and any step: bytes_sent_per_step is of a synchronised one.
std::optional<double> SentPerStep(const RunResult& run) {
  if (run.steps <= 0) return std::nullopt;
  return run.bytes_sent_per_step * static_cast<double>(run.synchronisations) /
         static_cast<double>(run.steps);
}

void AppendStrategy(const StrategySummary& strategy, std::string& out) {
  const auto field = [](auto RunResult::*member) {
    return Figure([member](const RunResult& run) -> std::optional<double> { return run.*member; });
  };
  AppendRow(
      {Printable(strategy.strategy),
       absl::StrCat(strategy.runs.size(), "/", strategy.runs.size() + strategy.failed.size()),
       Cell(strategy, Throughput, FormatNumber),
       Cell(strategy, field(&RunResult::step_ms_median), FormatNumber),
       Cell(strategy, field(&RunResult::communication_share), FormatPercent),
       Cell(strategy, field(&RunResult::wait_ms), FormatNumber),
       Cell(strategy, SentPerStep, FormatBytes), Cell(strategy, TestAccuracy, FormatAccuracy),
       Cell(strategy, TimeToTarget, FormatNumber), Cell(strategy, CostToTarget, FormatNumber)},
      out);
}

// The rates that were searched for, a line for each strategy.
void AppendTuning(const Study& study, std::string& out) {
  const std::optional<Table> table = TuningTable(study);
  if (!table.has_value()) return;
  AppendWrapped("", Printable(absl::StrCat(table->title, ": ", table->note)), out);
  for (const std::vector<std::string>& row : table->rows) {
    AppendWrapped(absl::StrFormat("%-15s ", Printable(row[0].substr(0, 15))),
                  Printable(absl::StrCat(row[1], " (", row[3], "), of ", row[4])), out);
  }
  absl::StrAppend(&out, "\n");
}

void AppendPredictions(const Study& study, std::string& out) {
  const std::vector<std::string> sentences = PredictionSentences(study);
  for (const std::string& sentence : sentences) {
    AppendWrapped("formula ", Printable(sentence), out);
  }
  if (!sentences.empty()) absl::StrAppend(&out, "\n");
}

}  // namespace

std::string ReportText(const std::vector<RunResult>& results) {
  if (results.empty()) return "No run has ended.\n";
  std::string out;
  for (const Study& study : GroupResults(results)) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", Printable(study.title()), "\n");
    AppendRow({"", "", "", "step", "comm.", "wait", "sent", "test", "target", "cost"}, out);
    AppendRow({"strategy", "runs", "samples/s", "ms", "share", "ms", "per step", "accuracy", "s",
               "machine-s"},
              out);
    for (const StrategySummary& strategy : study.strategies) AppendStrategy(strategy, out);
    absl::StrAppend(&out, "\n");
    AppendTuning(study, out);
    AppendPredictions(study, out);
    const Verdict verdict = MakeVerdict(study);
    for (const std::string& sentence : verdict.sentences) {
      AppendWrapped("", Printable(sentence), out);
    }
    for (const std::string& failure : verdict.failures) {
      AppendWrapped("FAILED  ", Printable(failure), out);
    }
    for (const std::string& caveat : verdict.caveats)
      AppendWrapped("note    ", Printable(caveat), out);
  }
  return out;
}

}  // namespace crossover::experiments
