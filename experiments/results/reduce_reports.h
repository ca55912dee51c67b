// Results and reports of runs whose processes were started by hand: from the
// ProcessReports that they left (`--report=FILE`) and the job. Not thread-safe; blocks for
// files only, and starts nothing.
#ifndef CROSSOVER_EXPERIMENTS_RESULTS_REDUCE_REPORTS_H_
#define CROSSOVER_EXPERIMENTS_RESULTS_REDUCE_REPORTS_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/flag_parser.h"
#include "experiments/results/result.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"

namespace crossover::experiments {

struct ReportedRun {
  std::string name;  // for errors: its folder or first file
  proto::Job job;    // checked, all fields written out; it names the run's strategy
  std::vector<proto::ProcessReport> reports;
};

// Each folder among `paths` is a run: its *.report files and its job.textproto. Files among
// them are one more run together, whose job lies beside the first. `job_path`, if not "",
// is the job of every run instead; flags that override fields of the job apply to each.
// Errors name the path and the fix.
absl::StatusOr<std::vector<ReportedRun>> ReadReportedRuns(const std::vector<std::string>& paths,
                                                          const std::string& job_path,
                                                          const ParsedFlags& parsed);

// One result a run, in their order; runs of one strategy and job are repetitions. Pure.
// `machine` describes the machine called machine.hostname; of runs on others only the names
// are known. Refuses what ReduceRun refuses, and jobs that have one name but differ in more
// than strategy and seed.
absl::StatusOr<std::vector<RunResult>> ReduceReportedRuns(std::span<const ReportedRun> runs,
                                                          const std::string& command,
                                                          const Environment& machine);

struct ReduceOptions {
  std::vector<std::string> paths;
  std::string job_path;
  std::string out;      // "" for the one folder that is reduced
  std::string command;  // that makes the report again
};
struct Reduced {
  std::string directory;  // now holds results.jsonl, report.md and report.html
  std::vector<RunResult> results;
};
// All of it. A folder that holds results already is refused, and so is more than one run
// without `out`.
absl::StatusOr<Reduced> ReduceReports(const ReduceOptions& options, const ParsedFlags& parsed,
                                      const Environment& machine);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESULTS_REDUCE_REPORTS_H_
