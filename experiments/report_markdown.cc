#include "experiments/report_markdown.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "experiments/format.h"
#include "experiments/report_tables.h"
#include "experiments/summary.h"
#include "experiments/verdict.h"

namespace crossover::experiments {
namespace {

// Text from a run cannot start a tag, break out of a table's cell or become markup.
std::string Escape(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '\n':
      case '\r':
        escaped += ' ';
        break;
      case '|':
      case '*':
      case '_':
      case '`':
      case '[':
      case ']':
      case '\\':
      case '#':
        escaped += '\\';
        escaped += c;
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// A fence longer than any run of backticks in the text.
std::string CodeBlock(const std::string& text) {
  size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const bool ends_line = !text.empty() && text.back() == '\n';
  return absl::StrCat(fence, "\n", text, ends_line ? "" : "\n", fence, "\n\n");
}

void AppendTable(const Table& table, std::string& out) {
  absl::StrAppend(&out, "### ", Escape(table.title), "\n\n");
  if (!table.note.empty()) absl::StrAppend(&out, Escape(table.note), "\n\n");
  for (const Heading& heading : table.headings)
    absl::StrAppend(&out, "| ", Escape(heading.text), " ");
  absl::StrAppend(&out, "|\n");
  for (size_t i = 0; i < table.headings.size(); ++i)
    absl::StrAppend(&out, i == 0 ? "|---" : "|---:");
  absl::StrAppend(&out, "|\n");
  for (const std::vector<std::string>& row : table.rows) {
    for (const std::string& cell : row) absl::StrAppend(&out, "| ", Escape(cell), " ");
    absl::StrAppend(&out, "|\n");
  }
  absl::StrAppend(&out, "\n");
}

void AppendVerdict(const Verdict& verdict, std::string& out) {
  for (const std::string& sentence : verdict.sentences) {
    absl::StrAppend(&out, Escape(sentence), "\n\n");
  }
  if (!verdict.failures.empty()) {
    absl::StrAppend(&out, "**Failed runs** (they are in no figure):\n\n");
    for (const std::string& failure : verdict.failures) {
      absl::StrAppend(&out, "- ", Escape(failure), "\n");
    }
    absl::StrAppend(&out, "\n");
  }
  if (!verdict.caveats.empty()) {
    absl::StrAppend(&out, "**What this does not say**\n\n");
    for (const std::string& caveat : verdict.caveats) {
      absl::StrAppend(&out, "- ", Escape(caveat), "\n");
    }
    absl::StrAppend(&out, "\n");
  }
}

void AppendStudy(const Study& study, std::string& out) {
  absl::StrAppend(&out, "## ", Escape(study.title()), "\n\n");
  AppendVerdict(MakeVerdict(study), out);
  size_t most = 0;
  for (const StrategySummary& strategy : study.strategies) {
    most = std::max(most, strategy.runs.size());
  }
  if (most > 0) {
    absl::StrAppend(&out, "Figures are medians, with the ", DescribeSpread(static_cast<int>(most)),
                    " in brackets where there is more than one.\n\n");
  }
  for (const Table& table : StrategyTables(study)) AppendTable(table, out);
  for (const Table& table : ProcessTables(study)) AppendTable(table, out);
  AppendTable(EnvironmentTable(study), out);
  absl::StrAppend(&out, "### Run it again\n\n", CodeBlock(RerunCommand(study)),
                  "### The job, all defaults written out\n\n", CodeBlock(ResolvedJob(study)));
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
