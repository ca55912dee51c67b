#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/html_element.h"
#include "experiments/html_sections.h"
#include "experiments/report_tables.h"

namespace crossover::experiments {

std::string EnvironmentSection(const Study& study) {
  const Table environment = EnvironmentTable(study);
  std::string rows;
  for (const std::vector<std::string>& row : environment.rows) {
    absl::StrAppend(&rows, "<tr><th scope=\"row\">", EscapeHtml(row[0]), "</th><td>",
                    EscapeHtml(row[1]), "</td></tr>\n");
  }
  return absl::StrCat(environment.note.empty() ? "" : Note(environment.note),
                      "<div class=\"table\"><table class=\"text\"><tbody>\n", rows,
                      "</tbody></table></div>\n<h4>Run it again</h4>\n<pre>",
                      EscapeHtml(RerunCommand(study)), "</pre>\n",
                      Details("The job of the first run, all defaults written out",
                              absl::StrCat("<pre>", EscapeHtml(ResolvedJob(study)), "</pre>")));
}

}  // namespace crossover::experiments
