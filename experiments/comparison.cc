#include "experiments/comparison.h"

#include <utility>

#include "core/status.h"
#include "experiments/cluster_run.h"
#include "experiments/reduce_run.h"
#include "experiments/report_html.h"
#include "experiments/report_markdown.h"
#include "os/files.h"
#include "os/wall_time.h"

namespace crossover::experiments {
namespace {

// One run from start to result; its own failure is part of the result.
absl::StatusOr<RunResult> RunOnce(const ComparisonOptions& options, const PlannedRun& run,
                                  SignalWaiter& signals, const Clock& clock,
                                  ProgressPrinter& progress) {
  ClusterOptions cluster;
  cluster.job = run.job;
  cluster.directory = absl::StrCat(options.directory, "/runs/", run.name);
  RETURN_IF_ERROR(os::MakeDirectory(cluster.directory));
  cluster.worker_binary = options.worker_binary;
  cluster.server_binary = options.server_binary;
  cluster.host = options.host;
  cluster.save_parameters = options.save_parameters;
  cluster.on_progress = [&](const std::vector<net::MemberState>& members) {
    progress.Update(members);
  };
  RunContext context;
  context.repetition = run.repetition;
  context.start_time = os::IsoTime();
  context.rerun_command = options.rerun_command;
  context.environment = options.environment;
  context.network = options.network;
  const int64_t start_ns = clock.NowNs();
  const auto reports = RunCluster(cluster, signals, clock);
  context.wall_s = static_cast<double>(clock.NowNs() - start_ns) * 1e-9;
  if (absl::IsCancelled(reports.status())) return reports.status();
  if (!reports.ok()) {
    return FailedRun(run.job, context, std::string(reports.status().message()));
  }
  const absl::StatusOr<RunResult> result = ReduceRun(run.job, *reports, context);
  if (!result.ok()) return FailedRun(run.job, context, std::string(result.status().message()));
  return *result;
}

absl::Status WriteReports(const std::string& directory, const std::vector<RunResult>& results) {
  RETURN_IF_ERROR(os::WriteFile(directory + "/report.md", ReportMarkdown(results)));
  return os::WriteFile(directory + "/report.html", ReportHtml(results));
}

}  // namespace

absl::Status RunComparison(const ComparisonOptions& options, SignalWaiter& signals,
                           const Clock& clock, ProgressPrinter& progress,
                           std::vector<RunResult>& results) {
  absl::Status first_failure;
  for (const PlannedRun& run : options.runs) {
    const auto steps = options.total_steps.find(run.job.model());
    progress.StartRun(run, static_cast<int>(options.runs.size()),
                      steps == options.total_steps.end() ? 0 : steps->second);
    ASSIGN_OR_RETURN(RunResult result, RunOnce(options, run, signals, clock, progress));
    RETURN_IF_ERROR(os::AppendLine(options.directory + "/results.jsonl", ToJsonLine(result)));
    results.push_back(result);
    RETURN_IF_ERROR(WriteReports(options.directory, results));
    progress.EndRun(result);
    if (result.ok()) continue;
    progress.Say(result.failure);
    first_failure.Update(
        absl::UnavailableError(absl::StrCat("run ", run.name, " failed: ", result.failure)));
    // The signal may have come while the failed run was being taken down.
    if (signals.ended_by() != 0) return absl::CancelledError("interrupted");
    if (!options.keep_going) return first_failure;
  }
  return first_failure;
}

}  // namespace crossover::experiments
