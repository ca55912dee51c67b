#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_sections.h"
#include "experiments/report/tuning_table.h"

namespace crossover::experiments {

std::string TuningSection(const Study& study) {
  const std::optional<Table> found = TuningTable(study);
  if (!found.has_value()) return "";
  HtmlTable table;
  table.css_class = "text";
  std::string meanings;
  for (const Heading& heading : found->headings) {
    table.headings.push_back(EscapeHtml(heading.text));
    if (heading.definition.empty()) continue;
    absl::StrAppend(&meanings, meanings.empty() ? "" : " ", heading.text, ": ", heading.definition);
  }
  for (const std::vector<std::string>& row : found->rows) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells.push_back(StrategyCell(row[0]));
    for (size_t i = 1; i < row.size(); ++i) cells.push_back(TextCell(row[i]));
  }
  return absl::StrCat("<p>", EscapeHtml(found->note), "</p>\n", TableHtml(table), Note(meanings));
}

}  // namespace crossover::experiments
