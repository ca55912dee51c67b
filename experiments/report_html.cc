#include "experiments/report_html.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "experiments/format.h"
#include "experiments/html_charts.h"
#include "experiments/html_style.h"
#include "experiments/report_tables.h"
#include "experiments/summary.h"
#include "experiments/verdict.h"

namespace crossover::experiments {
namespace {

void AppendParagraphs(const std::vector<std::string>& texts, std::string& out) {
  for (const std::string& text : texts) absl::StrAppend(&out, "<p>", EscapeHtml(text), "</p>\n");
}

void AppendList(const std::vector<std::string>& texts, std::string& out) {
  absl::StrAppend(&out, "<ul>\n");
  for (const std::string& text : texts) absl::StrAppend(&out, "<li>", EscapeHtml(text), "</li>\n");
  absl::StrAppend(&out, "</ul>\n");
}

void AppendVerdict(const Verdict& verdict, std::string& out) {
  absl::StrAppend(&out, "<div class=\"verdict\">\n");
  AppendParagraphs(verdict.sentences, out);
  absl::StrAppend(&out, "</div>\n");
  if (!verdict.failures.empty()) {
    absl::StrAppend(&out,
                    "<div class=\"failures\"><strong>Failed runs</strong> (they are in no "
                    "figure):\n");
    AppendList(verdict.failures, out);
    absl::StrAppend(&out, "</div>\n");
  }
  if (!verdict.caveats.empty()) {
    absl::StrAppend(&out, "<div class=\"caveats\"><strong>What this does not say</strong>\n");
    AppendList(verdict.caveats, out);
    absl::StrAppend(&out, "</div>\n");
  }
}

// "49,100 (48,700 to 49,600)": the spread on a line of its own.
std::string Cell(const std::string& text) {
  const size_t at = text.find(" (");
  if (at == std::string::npos) return EscapeHtml(text);
  return absl::StrCat(EscapeHtml(text.substr(0, at)), "<small>", EscapeHtml(text.substr(at + 1)),
                      "</small>");
}

void AppendTable(const Table& table, const char* css_class, std::string& out) {
  absl::StrAppend(&out, "<h3>", EscapeHtml(table.title), "</h3>\n");
  if (!table.note.empty()) {
    absl::StrAppend(&out, "<p class=\"note\">", EscapeHtml(table.note), "</p>\n");
  }
  absl::StrAppend(&out, "<div class=\"table\"><table class=\"", css_class, "\"><thead><tr>");
  for (const Heading& heading : table.headings) {
    absl::StrAppend(&out, "<th scope=\"col\"");
    if (!heading.definition.empty()) {
      absl::StrAppend(&out, " title=\"", EscapeHtml(heading.definition), "\"");
    }
    absl::StrAppend(&out, ">", EscapeHtml(heading.text), "</th>");
  }
  absl::StrAppend(&out, "</tr></thead><tbody>\n");
  for (const std::vector<std::string>& row : table.rows) {
    absl::StrAppend(&out, "<tr>");
    for (const std::string& cell : row) absl::StrAppend(&out, "<td>", Cell(cell), "</td>");
    absl::StrAppend(&out, "</tr>\n");
  }
  absl::StrAppend(&out, "</tbody></table></div>\n");
}

void AppendFigure(const char* title, const std::string& caption, const std::string& drawing,
                  std::string& out) {
  if (drawing.empty()) return;
  absl::StrAppend(&out, "<figure><h3>", title, "</h3><figcaption>", EscapeHtml(caption),
                  "</figcaption>\n", drawing, "\n</figure>\n");
}

void AppendCharts(const Study& study, std::string& out) {
  int most = 0;
  for (const StrategySummary& strategy : study.strategies) {
    most = std::max(most, static_cast<int>(strategy.runs.size()));
  }
  AppendFigure("Throughput",
               absl::StrCat("Median samples/s of all workers after the warm-up",
                            most > 1 ? "; whisker: " + DescribeSpread(most) : std::string(), "."),
               ThroughputChart(study), out);
  AppendFigure("Where a step's time goes",
               "The mean step of each strategy's typical run (the one with the median "
               "throughput), over ranks and measured steps. Hidden communication runs beneath "
               "compute and costs no time.",
               BreakdownChart(study), out);
  const std::string all_runs = "Every repetition is drawn; the typical run is the bold line. ";
  const std::string loss = all_runs + "A point is the mean over a window of steps of all workers.";
  const std::string accuracy =
      all_runs + "Snapshots, evaluated off the clock. The axis does not start at zero.";
  absl::StrAppend(&out, "<div class=\"charts\">\n");
  AppendFigure("Training loss against time", loss,
               CurveChart(study, CurveOf::kLoss, CurveAgainst::kTime), out);
  AppendFigure("Training loss against samples", loss,
               CurveChart(study, CurveOf::kLoss, CurveAgainst::kSamples), out);
  AppendFigure("Test accuracy against time", accuracy,
               CurveChart(study, CurveOf::kAccuracy, CurveAgainst::kTime), out);
  AppendFigure("Test accuracy against samples", accuracy,
               CurveChart(study, CurveOf::kAccuracy, CurveAgainst::kSamples), out);
  absl::StrAppend(&out, "</div>\n");
  AppendFigure(
      "One step",
      "Upper row: data, compute, apply; lower row: communication. One recorded step of the "
      "typical run, for local_sgd one that averages; clocks are aligned.",
      StepPictures(study), out);
}

// What a reader without a pointer to hover with needs.
void AppendDefinitions(const std::vector<Table>& tables, std::string& out) {
  absl::StrAppend(&out, "<details><summary>What the figures mean</summary>\n<dl>\n");
  for (const Table& table : tables) {
    for (const Heading& heading : table.headings) {
      if (heading.definition.empty() || heading.text == "Strategy") continue;
      absl::StrAppend(&out, "<dt>", EscapeHtml(heading.text), "</dt><dd>",
                      EscapeHtml(heading.definition), "</dd>\n");
    }
  }
  absl::StrAppend(&out,
                  "</dl><p class=\"note\">Formulas, and what each figure does not say: "
                  "docs/METRICS.md.</p></details>\n");
}

void AppendStudy(const Study& study, std::string& out) {
  absl::StrAppend(&out, "<section>\n<h2>", EscapeHtml(study.title()), "</h2>\n");
  AppendVerdict(MakeVerdict(study), out);
  AppendCharts(study, out);
  const std::vector<Table> tables = StrategyTables(study);
  for (const Table& table : tables) AppendTable(table, "figures", out);
  if (!tables.empty()) {
    absl::StrAppend(&out, "<details><summary>Each worker and server</summary>\n");
    for (const Table& table : ProcessTables(study)) AppendTable(table, "figures", out);
    absl::StrAppend(&out, "</details>\n");
    AppendDefinitions(tables, out);
  }
  AppendTable(EnvironmentTable(study), "text", out);
  absl::StrAppend(&out, "<h3>Run it again</h3>\n<pre>", EscapeHtml(RerunCommand(study)),
                  "</pre>\n<details><summary>The job, all defaults written out</summary>\n<pre>",
                  EscapeHtml(ResolvedJob(study)), "</pre></details>\n</section>\n");
}

}  // namespace

std::string ReportHtml(const std::vector<RunResult>& results) {
  std::string out = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      // Nothing may be fetched or run, whatever a text from a run might smuggle in.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<title>Crossover report</title>\n<style>",
      kStyleSheet, "</style></head><body>\n", ChartSymbols(),
      "<h1>Which way of synchronising gradients wins here?</h1>\n"
      "<p class=\"sub\">One training job under each strategy, by real processes, repetitions "
      "interleaved. Every figure comes from results.jsonl beside this page.</p>\n");
  if (results.empty()) absl::StrAppend(&out, "<p>No run has ended yet.</p>\n");
  for (const Study& study : GroupResults(results)) AppendStudy(study, out);
  return absl::StrCat(out, "</body></html>\n");
}

}  // namespace crossover::experiments
