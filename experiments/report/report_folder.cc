#include "experiments/report/report_folder.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "experiments/report/html/report_html.h"
#include "experiments/report/report_markdown.h"
#include "os/files.h"

namespace crossover::experiments {

absl::Status WriteReports(const std::string& directory, const std::vector<RunResult>& results) {
  RETURN_IF_ERROR(os::WriteFile(directory + "/report.md", ReportMarkdown(results)));
  return os::WriteFile(directory + "/report.html", ReportHtml(results));
}

absl::StatusOr<std::vector<RunResult>> RemakeReports(const std::string& directory) {
  const std::string path = directory + "/results.jsonl";
  ASSIGN_OR_RETURN(const std::string text, os::ReadFile(path));
  absl::StatusOr<std::vector<RunResult>> results = ParseResults(text);
  RETURN_IF_ERROR(Annotate(results.status(), absl::StrCat(path, ": ")));
  RETURN_IF_ERROR(WriteReports(directory, *results));
  return results;
}

}  // namespace crossover::experiments
