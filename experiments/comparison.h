// A whole comparison: the trials of its search, if it has one, then the planned runs, one
// after the other; each result on the disk as soon as it exists, the reports made anew after
// every run. One that was interrupted goes on with what is missing.
#ifndef CROSSOVER_EXPERIMENTS_COMPARISON_H_
#define CROSSOVER_EXPERIMENTS_COMPARISON_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/clock.h"
#include "experiments/launch/run_hosts.h"
#include "experiments/launch/signal_waiter.h"
#include "experiments/launch/site.h"
#include "experiments/progress.h"
#include "experiments/results/result.h"
#include "experiments/run_plan.h"
#include "experiments/tuning.h"

namespace crossover::experiments {

struct ComparisonOptions {
  std::vector<PlannedRun> runs;
  std::vector<PlannedTrial> trials;  // before the runs
  // What an interrupted comparison had finished by then; its files hold it already.
  std::vector<RunResult> finished;
  std::vector<TrialRecord> finished_trials;
  std::vector<RunResult> failed;  // runs that failed before the interruption; they are made again
  std::string resume_time;        // ISO 8601; "" where it was not interrupted
  std::map<proto::Model::Name, int64_t> total_steps;  // by model, for the progress line
  // results.jsonl, tuning.jsonl, report.md and report.html go here, and runs/NAME/ with the
  // logs, job, process reports and trace.json of each run. It exists.
  std::string directory;
  std::string worker_binary;
  std::string server_binary;
  Sites sites;
  RunHosts* hosts = nullptr;  // where processes are started; null: on this machine. Borrowed.
  bool keep_going = false;    // go on with the other runs after one has failed
  bool save_parameters = false;
  std::string rerun_command;
  Environment environment;
  Network network;
};

// Blocks for the length of all runs. Results of finished runs are on the disk and in
// `results`, those of before an interruption first, whatever the end. The first failure's status: a
// run that failed (one line; its result line says so too), a full disk, CANCELLED after a signal.
absl::Status RunComparison(const ComparisonOptions& options, SignalWaiter& signals,
                           const Clock& clock, ProgressPrinter& progress,
                           std::vector<RunResult>& results);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_COMPARISON_H_
