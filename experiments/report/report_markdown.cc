#include "experiments/report/report_markdown.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "experiments/prediction/prediction_table.h"
#include "experiments/report/markdown.h"
#include "experiments/report/paired_table.h"
#include "experiments/report/report_tables.h"
#include "experiments/report/tuning_table.h"
#include "experiments/report/verdict.h"
#include "experiments/results/format.h"
#include "experiments/results/summary.h"

namespace crossover::experiments {
namespace {

void AppendVerdict(const Verdict& verdict, std::string& out) {
  for (const std::string& sentence : verdict.sentences) {
    absl::StrAppend(&out, EscapeMarkdown(sentence), "\n\n");
  }
  if (!verdict.failures.empty()) {
    absl::StrAppend(&out, "**Failed runs** (they are in no figure):\n\n");
    for (const std::string& failure : verdict.failures) {
      absl::StrAppend(&out, "- ", EscapeMarkdown(failure), "\n");
    }
    absl::StrAppend(&out, "\n");
  }
  if (!verdict.caveats.empty()) {
    absl::StrAppend(&out, "**What this does not say**\n\n");
    for (const std::string& caveat : verdict.caveats) {
      absl::StrAppend(&out, "- ", EscapeMarkdown(caveat), "\n");
    }
    absl::StrAppend(&out, "\n");
  }
}

void AppendStudy(const Study& study, std::string& out) {
  absl::StrAppend(&out, "## ", EscapeMarkdown(study.title()), "\n\n");
  AppendVerdict(MakeVerdict(study), out);
  size_t most = 0;
  for (const StrategySummary& strategy : study.strategies) {
    most = std::max(most, strategy.runs.size());
  }
  if (most > 0) {
    absl::StrAppend(&out, "Figures are medians, with the ", DescribeSpread(static_cast<int>(most)),
                    " in brackets where there is more than one.\n\n");
  }
  for (const Table& table : StrategyTables(study)) AppendMarkdown(table, out);
  if (const std::optional<Table> paired = PairedTable(study)) AppendMarkdown(*paired, out);
  if (const std::optional<Table> tuning = TuningTable(study)) AppendMarkdown(*tuning, out);
  for (const Table& table : PredictionTables(study)) AppendMarkdown(table, out);
  if (const std::string why = WhyNothingIsPredicted(study); !why.empty()) {
    absl::StrAppend(
        &out, "### Measured and predicted\n\nNothing is predicted: ", EscapeMarkdown(why), ".\n\n");
  }
  for (const Table& table : ProcessTables(study)) AppendMarkdown(table, out);
  AppendMarkdown(EnvironmentTable(study), out);
  absl::StrAppend(&out, "### Run it again\n\n", MarkdownCode(RerunCommand(study)),
                  "### The job, all defaults written out\n\n", MarkdownCode(ResolvedJob(study)));
}

}  // namespace

std::string ReportMarkdown(const std::vector<RunResult>& results) {
  std::string out = "# Crossover: which way of synchronising gradients wins here?\n\n";
  if (results.empty()) return absl::StrCat(out, "No run has ended yet.\n");
  for (const Study& study : GroupResults(results)) AppendStudy(study, out);
  absl::StrAppend(&out,
                  "The definition of every figure, with its formula and what it does not say, is "
                  "in docs/METRICS.md; `results.jsonl` beside this page is the source of all "
                  "of them.\n");
  return out;
}

}  // namespace crossover::experiments
