// A whole comparison: the planned runs one after the other, each result on the disk
// as soon as it exists, the reports made anew after every run.
#ifndef CROSSOVER_EXPERIMENTS_COMPARISON_H_
#define CROSSOVER_EXPERIMENTS_COMPARISON_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/clock.h"
#include "experiments/progress.h"
#include "experiments/result.h"
#include "experiments/run_plan.h"
#include "experiments/signal_waiter.h"

namespace crossover::experiments {

struct ComparisonOptions {
  std::vector<PlannedRun> runs;
  std::map<proto::Model::Name, int64_t> total_steps;  // by model, for the progress line
  // results.jsonl, report.md and report.html go here, and runs/NAME/ with the logs,
  // job and process reports of each run. It exists.
  std::string directory;
  std::string worker_binary;
  std::string server_binary;
  std::string host = "127.0.0.1";
  bool keep_going = false;  // go on with the other runs after one has failed
  bool save_parameters = false;
  std::string rerun_command;
  Environment environment;
  Network network;
};

// Blocks for the length of all runs. Results of finished runs are on the disk and in
// `results` whatever the end. The first failure's status: a run that failed (one
// line; its result line says so too), a full disk, CANCELLED after a signal.
absl::Status RunComparison(const ComparisonOptions& options, SignalWaiter& signals,
                           const Clock& clock, ProgressPrinter& progress,
                           std::vector<RunResult>& results);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_COMPARISON_H_
