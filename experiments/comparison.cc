#include "experiments/comparison.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/divergence.h"
#include "core/job.h"
#include "core/status.h"
#include "experiments/launch/cluster_run.h"
#include "experiments/report/report_folder.h"
#include "experiments/report/trace.h"
#include "experiments/results/reduce_run.h"
#include "experiments/resume.h"
#include "experiments/resume_folder.h"
#include "os/files.h"
#include "os/wall_time.h"

namespace crossover::experiments {
namespace {

// Whether a result of the run is among these.
const RunResult* Find(const std::vector<RunResult>& results, const PlannedRun& run) {
  const auto found = std::find_if(results.begin(), results.end(),
                                  [&](const RunResult& result) { return IsOf(result, run); });
  return found == results.end() ? nullptr : &*found;
}

class Comparer {
 public:
  Comparer(const ComparisonOptions& options, SignalWaiter& signals, const Clock& clock,
           ProgressPrinter& progress, std::vector<RunResult>& results)
      : options_(options),
        signals_(signals),
        clock_(clock),
        progress_(progress),
        results_(results),
        trials_(options.finished_trials) {}

  absl::Status Run() {
    results_ = options_.finished;
    if (!results_.empty()) RETURN_IF_ERROR(WriteReports(options_.directory, results_));
    for (const PlannedTrial& trial : options_.trials) RETURN_IF_ERROR(MakeTrial(trial));
    for (const PlannedRun& run : options_.runs) {
      if (Find(options_.finished, run) == nullptr) RETURN_IF_ERROR(MakeRun(run));
    }
    return first_failure_;
  }

 private:
  // OK also after a failure where the comparison is to go on.
  absl::Status MakeTrial(const PlannedTrial& trial) {
    const auto is_done = [&](const TrialRecord& record) { return IsOf(record, trial); };
    if (std::any_of(trials_.begin(), trials_.end(), is_done)) return absl::OkStatus();
    const auto index = static_cast<int>(&trial - options_.trials.data());
    ASSIGN_OR_RETURN(const RunResult result, RunOnce(trial.run, index, trial.steps, false));
    const TrialRecord record = RecordOf(trial, result);
    RETURN_IF_ERROR(os::AppendLine(options_.directory + "/tuning.jsonl", ToJsonLine(record)));
    trials_.push_back(record);
    // That a rate is too high is what a trial finds out.
    if (!result.ok() && SaysDiverged(result.failure)) {
      progress_.EndRun(result);
      return absl::OkStatus();
    }
    return AfterRun(trial.run, result);
  }

  absl::Status MakeRun(const PlannedRun& planned) {
    PlannedRun run = planned;
    const std::optional<Tuning> tuning = TuningOf(run.job);
    if (tuning.has_value()) {
      run.job.mutable_learning_rate()->set_base(tuning->chosen_learning_rate);
    }
    const auto steps = options_.total_steps.find(run.job.model());
    const int index = static_cast<int>(options_.trials.size()) + run.index;
    ASSIGN_OR_RETURN(RunResult result,
                     RunOnce(run, index, steps == options_.total_steps.end() ? 0 : steps->second,
                             options_.save_parameters));
    result.planned_runs = RunsUnderJobOf(run, options_.runs);
    result.resume_time = options_.resume_time;
    if (tuning.has_value()) {
      const std::string warning = TuningWarning(*tuning);
      if (!warning.empty()) result.notes.push_back(warning);
      result.tuning = *tuning;
    }
    if (const RunResult* failed = Find(options_.failed, run)) {
      result.notes.push_back(absl::StrCat("repetition ", run.repetition + 1,
                                          " was made again, having failed on ", failed->start_time,
                                          ": ", failed->failure));
    }
    RETURN_IF_ERROR(os::AppendLine(options_.directory + "/results.jsonl", ToJsonLine(result)));
    results_.push_back(result);
    RETURN_IF_ERROR(WriteReports(options_.directory, results_));
    return AfterRun(run, result);
  }

  // What the search found for the job's strategy; empty if there was none.
  std::optional<Tuning> TuningOf(const proto::Job& job) const {
    for (const PlannedTrial& trial : options_.trials) {
      const proto::Job& tried = trial.run.job;
      if (tried.name() == job.name() && tried.model() == job.model()) {
        return ChooseLearningRate(job, trial.steps, tried.seed(), trials_);
      }
    }
    return std::nullopt;
  }

  // One run from start to result; its own failure is part of the result.
  absl::StatusOr<RunResult> RunOnce(const PlannedRun& run, int index, int64_t steps,
                                    bool save_parameters) {
    PlannedRun shown = run;
    shown.index = index;
    progress_.StartRun(shown, static_cast<int>(options_.trials.size() + options_.runs.size()),
                       steps);
    ClusterOptions cluster;
    cluster.job = run.job;
    cluster.directory = absl::StrCat(options_.directory, "/runs/", run.name);
    // Of a try that failed or was interrupted.
    RemoveSecrets(cluster.directory);
    RETURN_IF_ERROR(MoveAside(cluster.directory));
    RETURN_IF_ERROR(os::MakeDirectory(cluster.directory));
    cluster.worker_binary = options_.worker_binary;
    cluster.server_binary = options_.server_binary;
    cluster.sites = options_.sites;
    cluster.hosts = options_.hosts;
    cluster.save_parameters = save_parameters;
    cluster.on_progress = [this](const std::vector<net::MemberState>& members) {
      progress_.Update(members);
    };
    RunContext context;
    context.repetition = run.repetition;
    context.start_time = os::IsoTime();
    context.rerun_command = options_.rerun_command;
    context.environment = options_.environment;
    context.network = options_.network;
    context.nodes = NodesUsed(options_.sites, WorkerProcesses(run.job),
                              UsesServers(run.job) ? run.job.servers() : 0);
    const int64_t start_ns = clock_.NowNs();
    const auto reports = RunCluster(cluster, signals_, clock_);
    context.wall_s = static_cast<double>(clock_.NowNs() - start_ns) * 1e-9;
    if (absl::IsCancelled(reports.status())) return reports.status();
    if (!reports.ok()) {
      return FailedRun(run.job, context, std::string(reports.status().message()));
    }
    const absl::StatusOr<RunResult> result = ReduceRun(run.job, *reports, context);
    if (!result.ok()) return FailedRun(run.job, context, std::string(result.status().message()));
    ASSIGN_OR_RETURN(const std::string trace, TraceJson(run.job, *reports));
    RETURN_IF_ERROR(os::WriteFile(cluster.directory + "/trace.json", trace));
    return *result;
  }

  absl::Status AfterRun(const PlannedRun& run, const RunResult& result) {
    progress_.EndRun(result);
    if (result.ok()) return absl::OkStatus();
    progress_.Say(result.failure);
    first_failure_.Update(
        absl::UnavailableError(absl::StrCat("run ", run.name, " failed: ", result.failure)));
    // The signal may have come while the failed run was being taken down.
    if (signals_.ended_by() != 0) return absl::CancelledError("interrupted");
    // A strategy that diverges is a result; the others have theirs to give.
    if (SaysDiverged(result.failure)) return absl::OkStatus();
    return options_.keep_going ? absl::OkStatus() : first_failure_;
  }

  const ComparisonOptions& options_;
  SignalWaiter& signals_;
  const Clock& clock_;
  ProgressPrinter& progress_;
  std::vector<RunResult>& results_;
  std::vector<TrialRecord> trials_;
  absl::Status first_failure_;
};

}  // namespace

absl::Status RunComparison(const ComparisonOptions& options, SignalWaiter& signals,
                           const Clock& clock, ProgressPrinter& progress,
                           std::vector<RunResult>& results) {
  return Comparer(options, signals, clock, progress, results).Run();
}

}  // namespace crossover::experiments
