// The compare binary: one job under every strategy, side by side. Here the command line is
// parsed and its mode chosen; each mode has a file of its own.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "experiments/compare_arguments.h"
#include "experiments/compare_diff.h"
#include "experiments/compare_run.h"
#include "experiments/machine.h"
#include "experiments/report/report_folder.h"
#include "experiments/report/report_text.h"
#include "experiments/results/reduce_reports.h"
#include "net/grpc_setup.h"
#include "os/environment.h"
#include "os/termination.h"

namespace crossover::experiments {
namespace {

absl::Status ReportAgain(const CommandLine& command) {
  if (!command.parsed.positional.empty() || !command.parsed.job_overrides.empty()) {
    return absl::InvalidArgumentError(
        "--report makes the reports of a job that has run; leave the job and its fields out");
  }
  const std::string directory = os::ResolveUserPath(command.arguments.report);
  ASSIGN_OR_RETURN(const std::vector<RunResult> results, RemakeReports(directory));
  std::printf("%s\nreports: %s\n", ReportText(results).c_str(), directory.c_str());
  return absl::OkStatus();
}

// What processes started by hand have left, as a comparison reports it.
absl::Status ReduceByHand(const CommandLine& command) {
  std::string again = "experiments/run";
  for (const std::string& word : command.words) absl::StrAppend(&again, " ", QuoteForShell(word));
  const Arguments& arguments = command.arguments;
  ASSIGN_OR_RETURN(
      const Reduced reduced,
      ReduceReports({command.parsed.positional, arguments.job_path, arguments.out, again},
                    command.parsed, DescribeMachine(os::SourceTree())));
  std::printf("%s\nresults and reports: %s\n", ReportText(reduced.results).c_str(),
              reduced.directory.c_str());
  return absl::OkStatus();
}

// CANCELLED after a signal, which `ended_by` then is.
absl::Status Dispatch(const CommandLine& command, int& ended_by) {
  const Arguments& arguments = command.arguments;
  if (!arguments.report.empty()) return ReportAgain(command);
  if (arguments.diff) return CompareDiff(command);
  if (arguments.reduce) return ReduceByHand(command);
  if (!arguments.job_path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--job=", arguments.job_path,
                                                   ": only with --reduce; fix: experiments/run ",
                                                   arguments.job_path));
  }
  return CompareRun(command, ended_by);
}

int Main(const std::vector<std::string>& words) {
  net::PrepareGrpc();
  const absl::StatusOr<CommandLine> command = ParseCommandLine(words);
  absl::Status status = command.status();
  if (status.ok() && command->parsed.help) {
    std::fputs(CompareUsage().c_str(), stdout);
    return 0;
  }
  int ended_by = 0;  // the signal, if one did
  if (status.ok()) status = Dispatch(*command, ended_by);
  if (status.ok()) return 0;
  std::fprintf(stderr, "compare: %s\n", std::string(status.message()).c_str());
  return absl::IsCancelled(status) ? os::ExitCodeOf(ended_by) : 1;
}

}  // namespace
}  // namespace crossover::experiments

int main(int argc, char** argv) {
  return crossover::experiments::Main(std::vector<std::string>(argv + 1, argv + argc));
}
