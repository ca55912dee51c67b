#include "experiments/report/html/report_html.h"

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_assets.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_sections.h"
#include "experiments/report/html/html_style.h"
#include "experiments/report/report_tables.h"
#include "experiments/results/format.h"
#include "experiments/results/summary.h"

namespace crossover::experiments {
namespace {

// How much evidence there is, before anything is claimed from it.
std::string Evidence(const Study& study) {
  const std::vector<const RunResult*> runs = study.all();
  size_t ok = 0;
  int most = 0;
  for (const StrategySummary& strategy : study.strategies) {
    ok += strategy.runs.size();
    most = std::max(most, static_cast<int>(strategy.runs.size()));
  }
  const RunResult& run = *runs[0];
  std::string out = absl::StrCat(ok, " of ", runs.size(), " runs succeeded; ",
                                 study.strategies.size(), " strategies, repetitions interleaved; ");
  if (most > 1) absl::StrAppend(&out, "in brackets: ", DescribeSpread(most), "; ");
  absl::StrAppend(&out, run.environment.cores, " cores, ", DescribeNetwork(run), "; ",
                  run.start_time);
  if (run.scales.time != 1 || run.scales.bytes != 1) {
    absl::StrAppend(&out, ". Emulated ", FormatNumber(run.scales.time), " times slower with ",
                    FormatNumber(run.scales.bytes),
                    " times fewer bytes; every figure is scaled back");
  }
  return out;
}

void AppendStudy(const Study& study, int number, std::string& out) {
  std::string links, sections;
  for (const PageSection& section : PageSections()) {
    const std::string html = section.write(study);
    if (html.empty()) continue;
    if (section.title == nullptr) {
      absl::StrAppend(&sections, html);
      continue;
    }
    const std::string id = absl::StrCat("s", number, "-", section.id);
    absl::StrAppend(&links, "<a href=\"#", id, "\">", section.title, "</a>\n");
    absl::StrAppend(&sections, "<h3 id=\"", id, "\">", section.title, "</h3>\n", html);
  }
  absl::StrAppend(&out, "<section", Attribute("data-study", study.title()), ">\n<h2>",
                  EscapeHtml(study.title()), "</h2>\n<p class=\"sub\">",
                  EscapeHtml(Evidence(study)), "</p>\n<nav aria-label=\"Sections\">", links,
                  "<a href=\"#definitions\">Definitions</a></nav>\n", sections, "</section>\n");
}

std::string Head() {
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      // Nothing may be fetched, and only our own two scripts run, whatever a text from a run
      // might smuggle in.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src '",
      kUplotScriptHash, "' '", kPageScriptHash, "'\">\n<title>Crossover report</title>\n<style>",
      kUplotStyle, kPageStyle, "</style></head><body>\n");
}

// uPlot's licence asks to stay with every copy.
std::string Foot() {
  return absl::StrCat(
      "<footer>",
      Details(absl::StrCat("Curves are explored with uPlot ", kUplotVersion, " (MIT licence)"),
              absl::StrCat("<pre>", EscapeHtml(kUplotLicense), "</pre>")),
      "</footer>\n<script>", kUplotScript, "</script>\n<script>", kPageScript,
      "</script>\n</body></html>\n");
}

}  // namespace

std::string ReportHtml(const std::vector<RunResult>& results) {
  std::string out = absl::StrCat(
      Head(), ChartSymbols(),
      "<h1>Which way of synchronising gradients wins here?</h1>\n"
      "<p class=\"sub\">One training job under each strategy, by real processes. Every figure "
      "comes from results.jsonl beside this page; hover over a number, or press an underlined "
      "name, for what it means.</p>\n");
  if (results.empty()) absl::StrAppend(&out, "<p>No run has ended yet.</p>\n");
  int number = 0;
  for (const Study& study : GroupResults(results)) AppendStudy(study, ++number, out);
  return absl::StrCat(out, results.empty() ? "" : GlossaryHtml(), Foot());
}

}  // namespace crossover::experiments
