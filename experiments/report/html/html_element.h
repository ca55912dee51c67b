// The pieces that the sections of report.html are put together from: escaped text, terms
// with their definitions, figures that a machine can read, and tables of them.
//
// Every figure element carries data-metric (a key of report_metrics.h), data-value, and where
// they apply data-strategy, data-repetition (counted from 0; absent: the median over
// repetitions), data-rank, data-low and data-high. Values are those of results.jsonl, unrounded.
// Pure; every text of a run is escaped.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_ELEMENT_H_
#define CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_ELEMENT_H_

#include <string>
#include <vector>

#include "experiments/report/report_metrics.h"
#include "experiments/results/summary.h"

namespace crossover::experiments {

// Safe between tags and in quoted attributes.
std::string EscapeHtml(const std::string& text);

// ` name="value"`, escaped; numbers in the shortest digits that read back the same.
std::string Attribute(const std::string& name, const std::string& value);
std::string Attribute(const std::string& name, double value);

// A metric's name as a button: its definition shows on hovering, and on pressing it by
// pointer, finger or key. GlossaryHtml must be on the page.
std::string Term(const std::string& key);
std::string Term(const std::string& key, const std::string& text);

// The pop-ups that terms open, and the definitions as a list for print and old browsers.
std::string GlossaryHtml();

// The strategy's name behind its colour, dash and marker.
std::string StrategyNameHtml(const std::string& strategy);
// The marker on a piece of its line.
std::string StrategyMark(const std::string& strategy);

// The attributes of a figure over repetitions, and as title the value of each repetition and
// the definition. "" if no repetition has the figure.
std::string FigureAttributes(const StrategySummary& strategy, const Metric& metric);
// Of one run: the attributes of `value`. In SVG, where a title is an element.
std::string RunData(const RunResult& run, const std::string& key, double value);
// The same and the definition as title.
std::string RunAttributes(const RunResult& run, const std::string& key, double value);
// Of one worker or server of a run.
std::string RankAttributes(const RunResult& run, int64_t rank, const std::string& key,
                           double value);

// A table in a frame that scrolls sideways if it must. The first column stays in sight.
struct HtmlTable {
  std::vector<std::string> headings;           // HTML
  std::vector<std::vector<std::string>> rows;  // cells with their tags: <td>...</td>
  std::string css_class = "figures";
};
std::string TableHtml(const HtmlTable& table);

// "<td>" with the text escaped; a long one may break into lines.
std::string TextCell(const std::string& text);
// "<th scope=row>" with the strategy's mark and name.
std::string StrategyCell(const std::string& strategy);
// The median, and the spread on a line of its own.
std::string FigureCell(const StrategySummary& strategy, const Metric& metric);
std::string RunCell(const RunResult& run, const std::string& key, double value);
std::string RankCell(const RunResult& run, int64_t rank, const std::string& key, double value);

// One row for each strategy, one column for each key. Columns that no strategy has a figure
// for are left out; "" if that leaves none.
std::string StrategyTable(const std::vector<const StrategySummary*>& strategies,
                          const std::vector<std::string>& keys);

// A summary line that opens what lies beneath.
std::string Details(const std::string& summary, const std::string& html);

// A paragraph of small print.
std::string Note(const std::string& text);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_ELEMENT_H_
