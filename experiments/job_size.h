// Looks up, before anything starts, what a job's data and model come to.
#ifndef CROSSOVER_EXPERIMENTS_JOB_SIZE_H_
#define CROSSOVER_EXPERIMENTS_JOB_SIZE_H_

#include <string>

#include "absl/status/statusor.h"
#include "experiments/dry_run.h"
#include "experiments/launch/signal_waiter.h"
#include "proto/job.pb.h"

namespace crossover::experiments {

// Reads every data file to its end, then asks the worker binary for the model's size (it alone
// knows the model): a second in all. Refuses data that is missing, damaged (by file and byte
// offset) or too small for a step, and passes on what the worker says when it refuses. A signal
// takes the worker binary down: CANCELLED. Of an emulated job the job itself says everything.
absl::StatusOr<JobSize> SizeOfJob(const proto::Job& job, const std::string& worker_binary,
                                  SignalWaiter& signals);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_JOB_SIZE_H_
