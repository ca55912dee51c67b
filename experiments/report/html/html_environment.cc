#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_sections.h"
#include "experiments/report/report_tables.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

// What the links carried before the runs, all nodes at once in both directions.
std::string ProbeTable(const Network& network) {
  if (network.probe.empty()) return "";
  HtmlTable table;
  table.headings = {"Node", "Sent, MB/s", "Received, MB/s", "Promised, MB/s", "Round trip, us"};
  const auto cell = [](double value, double unit) {
    return TextCell(value > 0 ? FormatNumber(value / unit) : "n/a");
  };
  for (const ProbedNode& node : network.probe) {
    table.rows.push_back({"<th scope=\"row\">" + EscapeHtml(node.name) + "</th>",
                          cell(node.send_bytes_per_s, 1e6), cell(node.receive_bytes_per_s, 1e6),
                          cell(node.promised_bytes_per_s, 1e6), cell(node.rtt_us, 1)});
  }
  return absl::StrCat("<h4>The network before the runs</h4>\n",
                      Note("Measured with all nodes sending and receiving at once; the round trip "
                           "idle, median, to the next node."),
                      TableHtml(table));
}

}  // namespace

std::string EnvironmentSection(const Study& study) {
  const Table environment = EnvironmentTable(study);
  std::string rows;
  for (const std::vector<std::string>& row : environment.rows) {
    absl::StrAppend(&rows, "<tr><th scope=\"row\">", EscapeHtml(row[0]), "</th><td>",
                    EscapeHtml(row[1]), "</td></tr>\n");
  }
  return absl::StrCat(environment.note.empty() ? "" : Note(environment.note),
                      "<div class=\"table\"><table class=\"text\"><tbody>\n", rows,
                      "</tbody></table></div>\n", ProbeTable(study.all()[0]->network),
                      "<h4>Run it again</h4>\n<pre>", EscapeHtml(RerunCommand(study)), "</pre>\n",
                      Details("The job of the first run, all defaults written out",
                              absl::StrCat("<pre>", EscapeHtml(ResolvedJob(study)), "</pre>")));
}

}  // namespace crossover::experiments
