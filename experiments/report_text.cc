#include "experiments/report_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/format.h"
#include "experiments/summary.h"
#include "experiments/verdict.h"

namespace crossover::experiments {
namespace {

constexpr size_t kColumns = 100;

std::string Printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

// Words on lines of at most kColumns, each line after the first indented.
void AppendWrapped(const std::string& first, const std::string& text, std::string& out) {
  const std::string indent(first.size(), ' ');
  std::string line = first;
  bool line_has_word = false;
  const auto flush = [&] {
    absl::StrAppend(&out, line, "\n");
    line = indent;
    line_has_word = false;
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (line_has_word && line.size() + 1 + word.size() > kColumns) flush();
    while (line.size() + word.size() > kColumns) {
      const size_t fits = kColumns - line.size();
      line += word.substr(0, fits);
      word.erase(0, fits);
      flush();
    }
    absl::StrAppend(&line, line_has_word ? " " : "", word);
    line_has_word = true;
  }
  flush();
}

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
