// Looks up, before anything starts, what a job's data and model come to.
#ifndef CROSSOVER_EXPERIMENTS_JOB_SIZE_H_
#define CROSSOVER_EXPERIMENTS_JOB_SIZE_H_

#include <string>

#include "absl/status/statusor.h"
#include "experiments/dry_run.h"
#include "proto/job.pb.h"

namespace crossover::experiments {

// Reads the data set's headers and asks the worker binary for the model's size (it
// alone knows the model; half a second). Refuses data that is missing or damaged, or too small
// for a step.
absl::StatusOr<JobSize> SizeOfJob(const proto::Job& job, const std::string& worker_binary);

// The same job with the lenet model and, unless it has a rate of its own, a learning
// rate that suits it.
proto::Job LenetJob(proto::Job job);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_JOB_SIZE_H_
