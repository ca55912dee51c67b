#include "experiments/compare_diff.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "experiments/report/diff.h"
#include "os/environment.h"
#include "os/files.h"

namespace crossover::experiments {
namespace {

absl::StatusOr<DiffSide> ReadSide(const std::string& folder) {
  DiffSide side;
  side.name = folder;
  const std::string path = os::ResolveUserPath(folder) + "/results.jsonl";
  ASSIGN_OR_RETURN(const std::string text, os::ReadFile(path));
  absl::StatusOr<std::vector<RunResult>> results = ParseResults(text);
  RETURN_IF_ERROR(Annotate(results.status(), absl::StrCat(path, ": ")));
  if (results->empty()) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": it holds no result"));
  }
  side.results = *std::move(results);
  return side;
}

}  // namespace

absl::Status CompareDiff(const CommandLine& command) {
  const std::vector<std::string>& folders = command.parsed.positional;
  if (folders.size() != 2 || !command.parsed.job_overrides.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--diff takes two result folders, and no field of a job; found ", folders.size(), " and ",
        command.parsed.job_overrides.size(), "; fix: --diff FOLDER_A FOLDER_B"));
  }
  ASSIGN_OR_RETURN(const DiffSide a, ReadSide(folders[0]));
  ASSIGN_OR_RETURN(const DiffSide b, ReadSide(folders[1]));
  const Diff diff = MakeDiff(a, b);
  std::fputs(DiffText(diff).c_str(), stdout);
  if (command.arguments.out.empty()) return absl::OkStatus();
  const std::string out = os::ResolveUserPath(command.arguments.out);
  RETURN_IF_ERROR(os::MakeDirectory(out));
  RETURN_IF_ERROR(os::WriteFile(out + "/diff.md", DiffMarkdown(diff)));
  std::printf("\n%s/diff.md has it too\n", out.c_str());
  return absl::OkStatus();
}

}  // namespace crossover::experiments
