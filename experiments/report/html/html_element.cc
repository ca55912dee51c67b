#include "experiments/report/html/html_element.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_style.h"

namespace crossover::experiments {
namespace {

// A key as part of an id.
std::string IdOf(const std::string& key) {
  std::string id = "def-";
  for (const char c : key) id += c == '.' ? '-' : c;
  return id;
}

std::string Plain(double value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  return std::string(digits, end);
}

std::string Definition(const Metric& metric) {
  return absl::StrCat(metric.name, ": ", metric.definition, " [", metric.key, "]");
}

// "49,100 (48,700 to 49,600)": the spread on a line of its own.
std::string OnTwoLines(const std::string& text) {
  const size_t at = text.find(" (");
  if (at == std::string::npos) return EscapeHtml(text);
  return absl::StrCat(EscapeHtml(text.substr(0, at)), "<small>", EscapeHtml(text.substr(at + 1)),
                      "</small>");
}

}  // namespace

std::string EscapeHtml(const std::string& text) {
  std::string escaped;
  escaped.reserve(text.size());
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
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        // HTML knows no other control characters, not even as references.
        escaped += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return escaped;
}

std::string Attribute(const std::string& name, const std::string& value) {
  return absl::StrCat(" ", name, "=\"", EscapeHtml(value), "\"");
}

std::string Attribute(const std::string& name, double value) {
  return absl::StrCat(" ", name, "=\"", Plain(value), "\"");
}

std::string Term(const std::string& key) { return Term(key, MetricOf(key).name); }

std::string Term(const std::string& key, const std::string& text) {
  return absl::StrCat(
      "<button type=\"button\" class=\"term\"", Attribute("popovertarget", IdOf(key)),
      Attribute("title", Definition(MetricOf(key))), ">", EscapeHtml(text), "</button>");
}

std::string GlossaryHtml() {
  std::string popups, list;
  for (const Metric& metric : Metrics()) {
    const std::string body =
        absl::StrCat(EscapeHtml(metric.definition), " <code>", EscapeHtml(metric.key), "</code>");
    absl::StrAppend(&popups, "<div popover class=\"definition\"", Attribute("id", IdOf(metric.key)),
                    "><strong>", EscapeHtml(metric.name), "</strong><br>", body, "</div>\n");
    absl::StrAppend(&list, "<dt>", EscapeHtml(metric.name), "</dt><dd>", body, "</dd>\n");
  }
  return absl::StrCat(
      "<section class=\"glossary\"><h2 id=\"definitions\">What the figures mean</h2>\n",
      Note("In code style: the figure's path in a line of results.jsonl; a name without such a "
           "path is worked out from others. Formulas, and what each figure does not say: "
           "docs/METRICS.md."),
      Details("All definitions", absl::StrCat("<dl>", list, "</dl>")), "</section>\n", popups);
}

std::string StrategyMark(const std::string& strategy) {
  return absl::StrCat(
      "<svg class=\"mark\" width=\"30\" height=\"12\" aria-hidden=\"true\">"
      "<use href=\"#mark-",
      LookOf(strategy).marker, "\"/></svg>");
}

std::string StrategyNameHtml(const std::string& strategy) {
  return absl::StrCat(StrategyMark(strategy), "<span>", EscapeHtml(strategy), "</span>");
}

std::string FigureAttributes(const StrategySummary& strategy, const Metric& metric) {
  const std::optional<FigureSummary> summary = Summarize(strategy, metric.figure);
  if (!summary.has_value()) return "";
  std::string title = absl::StrCat(strategy.strategy, ", each repetition: ");
  const char* between = "";
  for (const auto& [repetition, value] : ByRepetition(strategy, metric.figure)) {
    absl::StrAppend(&title, between, metric.format(value));
    between = "; ";
  }
  absl::StrAppend(&title, ". ", Definition(metric));
  return absl::StrCat(
      Attribute("data-strategy", strategy.strategy), Attribute("data-metric", metric.key),
      Attribute("data-value", summary->median), Attribute("data-low", summary->spread.low),
      Attribute("data-high", summary->spread.high), Attribute("title", title));
}

std::string RunData(const RunResult& run, const std::string& key, double value) {
  return absl::StrCat(Attribute("data-strategy", run.strategy), Attribute("data-metric", key),
                      Attribute("data-repetition", static_cast<double>(run.repetition)),
                      Attribute("data-value", value));
}

std::string RunAttributes(const RunResult& run, const std::string& key, double value) {
  return absl::StrCat(RunData(run, key, value), Attribute("title", Definition(MetricOf(key))));
}

std::string RankAttributes(const RunResult& run, int64_t rank, const std::string& key,
                           double value) {
  return absl::StrCat(Attribute("data-rank", static_cast<double>(rank)),
                      RunAttributes(run, key, value));
}

std::string TableHtml(const HtmlTable& table) {
  std::string out = absl::StrCat("<div class=\"table\" tabindex=\"0\"><table",
                                 Attribute("class", table.css_class), "><thead><tr>");
  for (const std::string& heading : table.headings) {
    absl::StrAppend(&out, "<th scope=\"col\">", heading, "</th>");
  }
  absl::StrAppend(&out, "</tr></thead><tbody>\n");
  for (const std::vector<std::string>& row : table.rows) {
    absl::StrAppend(&out, "<tr>");
    for (const std::string& cell : row) absl::StrAppend(&out, cell);
    absl::StrAppend(&out, "</tr>\n");
  }
  return absl::StrCat(out, "</tbody></table></div>\n");
}

std::string TextCell(const std::string& text) {
  // Figures and names stay on one line; sentences do not.
  const char* tag = text.size() > 40 ? "<td class=\"prose\">" : "<td>";
  return absl::StrCat(tag, EscapeHtml(text), "</td>");
}

std::string StrategyCell(const std::string& strategy) {
  return absl::StrCat("<th scope=\"row\">", StrategyNameHtml(strategy), "</th>");
}

std::string FigureCell(const StrategySummary& strategy, const Metric& metric) {
  return absl::StrCat("<td", FigureAttributes(strategy, metric), ">",
                      OnTwoLines(FormatFigure(strategy, metric.figure, metric.format)), "</td>");
}

std::string RunCell(const RunResult& run, const std::string& key, double value) {
  if (!std::isfinite(value)) return TextCell("n/a");
  return absl::StrCat("<td", RunAttributes(run, key, value), ">",
                      EscapeHtml(MetricOf(key).format(value)), "</td>");
}

std::string RankCell(const RunResult& run, int64_t rank, const std::string& key, double value) {
  if (!std::isfinite(value)) return TextCell("n/a");
  return absl::StrCat("<td", RankAttributes(run, rank, key, value), ">",
                      EscapeHtml(MetricOf(key).format(value)), "</td>");
}

std::string StrategyTable(const std::vector<const StrategySummary*>& strategies,
                          const std::vector<std::string>& keys) {
  HtmlTable table;
  table.headings.push_back("Strategy");
  std::vector<const Metric*> columns;
  for (const std::string& key : keys) {
    const Metric& metric = MetricOf(key);
    bool has_figure = false;
    for (const StrategySummary* strategy : strategies) {
      has_figure = has_figure || Summarize(*strategy, metric.figure).has_value();
    }
    if (!has_figure) continue;
    columns.push_back(&metric);
    table.headings.push_back(Term(key));
  }
  if (columns.empty()) return "";
  for (const StrategySummary* strategy : strategies) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(StrategyCell(strategy->strategy));
    for (const Metric* metric : columns) row.push_back(FigureCell(*strategy, *metric));
  }
  return TableHtml(table);
}

std::string Details(const std::string& summary, const std::string& html) {
  return absl::StrCat("<details><summary>", EscapeHtml(summary), "</summary>\n", html,
                      "</details>\n");
}

std::string Note(const std::string& text) {
  return absl::StrCat("<p class=\"note\">", EscapeHtml(text), "</p>\n");
}

}  // namespace crossover::experiments
