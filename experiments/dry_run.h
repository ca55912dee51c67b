// What a comparison would start, send and hold, worked out from the job alone:
// nothing is started. Pure. docs/METRICS.md has the formulas of bytes.
#ifndef CROSSOVER_EXPERIMENTS_DRY_RUN_H_
#define CROSSOVER_EXPERIMENTS_DRY_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/job.h"
#include "experiments/run_plan.h"
#include "proto/job.pb.h"

namespace crossover::experiments {

// What a job's model and data come to.
struct JobSize {
  int64_t parameters = 0;  // values of the model
  int64_t data_bytes = 0;  // of the whole data set in memory
  StepPlan plan;
};

// Of one strategy.
struct RunSize {
  int workers = 0;  // processes
  int servers = 0;
  // Payload of one worker and synchronised step, each way (sent, received alike).
  double bytes_per_synchronisation = 0;
  double synchronisations_per_step = 1;  // without a last averaging
  // Expected resident memory of the largest process of each role: what our buffers
  // come to plus what the libraries take by themselves.
  int64_t worker_memory_bytes = 0;
  int64_t server_memory_bytes = 0;
};
// `job` is validated and names its strategy.
RunSize SizeOfRun(const proto::Job& job, const JobSize& size);

// A text table for the terminal: a line per strategy of `runs` (one repetition), and what all
// of it comes to.
std::string DescribeDryRun(const std::vector<PlannedRun>& runs, const JobSize& size);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_DRY_RUN_H_
