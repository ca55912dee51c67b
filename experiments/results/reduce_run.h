// Reduces what the processes of one run measured to its figures: one RunResult, one
// line of results.jsonl. Pure: no clock, no files. Formulas: docs/METRICS.md.
#ifndef CROSSOVER_EXPERIMENTS_RESULTS_REDUCE_RUN_H_
#define CROSSOVER_EXPERIMENTS_RESULTS_REDUCE_RUN_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/results/result.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"

namespace crossover::experiments {

// What the processes themselves cannot know; the launcher does.
struct RunContext {
  int repetition = 0;
  std::string start_time;  // ISO 8601
  double wall_s = 0;       // start to end of all processes
  std::string rerun_command;
  Environment environment;  // an empty blas_library or congestion_control is filled in
                            // from worker 0's report
  Network network;
  int64_t nodes = 1;  // different machines, or nodes of the lab, that the processes occupy
};

// `job` has passed ValidateJob and names the run's strategy. One report per process,
// in any order. Refuses reports that are incomplete, not of this job or inconsistent;
// the error names the process.
absl::StatusOr<RunResult> ReduceRun(const proto::Job& job,
                                    const std::vector<proto::ProcessReport>& reports,
                                    const RunContext& context);

// The line of a run that failed: what it was and why it has no figures.
RunResult FailedRun(const proto::Job& job, const RunContext& context, std::string_view why);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESULTS_REDUCE_RUN_H_
