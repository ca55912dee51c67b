// Evaluates what the training kept, after it, so that evaluation costs no training
// time; and says how many samples had been trained on by then. For the thread that the model
// belongs to; EvaluateAll blocks for all evaluations.
#ifndef CROSSOVER_WORKER_EVALUATION_H_
#define CROSSOVER_WORKER_EVALUATION_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/job.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"
#include "worker/data/dataset.h"
#include "worker/models/model.h"
#include "worker/trainer.h"

namespace crossover::worker {

// Samples that all workers together have trained on after so many steps each.
int64_t SamplesAfter(int64_t steps, const proto::Job& job, const StepPlan& plan);

// Every snapshot, then the model as it stands (the result of the training, reached
// after `train_time_ns`). Leaves the model as it was. `keep_going` is asked between two
// evaluations; its error ends them. Of a model that learns nothing: empty.
absl::StatusOr<std::vector<proto::Evaluation>> EvaluateAll(
    const proto::Job& job, const StepPlan& plan, const TrainingResult& training,
    int64_t train_time_ns, const Dataset& test, Model& model,
    const std::function<absl::Status()>& keep_going);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_EVALUATION_H_
