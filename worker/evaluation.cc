#include "worker/evaluation.h"

#include <algorithm>
#include <optional>

#include "core/status.h"

namespace crossover::worker {
namespace {

// Adds nothing for a model that learns nothing.
void EvaluateNow(Model& model, const Dataset& test, int64_t step, int64_t train_time_ns,
                 int64_t samples, std::vector<proto::Evaluation>& evaluations) {
  const std::optional<EvaluationResult> result = model.Evaluate(test);
  if (!result.has_value()) return;
  proto::Evaluation& evaluation = evaluations.emplace_back();
  evaluation.set_step(step);
  evaluation.set_train_time_ns(train_time_ns);
  evaluation.set_samples(samples);
  evaluation.set_accuracy(result->accuracy);
  evaluation.set_loss(result->loss);
}

void Load(Model& model, std::span<const float> parameters, std::span<const float> buffers) {
  std::copy(parameters.begin(), parameters.end(), model.parameters().host().begin());
  model.LoadBuffers(buffers);
}

}  // namespace

int64_t SamplesAfter(int64_t steps, const proto::Job& job, const StepPlan& plan) {
  const int64_t epochs = steps / plan.steps_per_epoch;
  const int64_t rest = steps % plan.steps_per_epoch;
  const int64_t per_epoch =
      std::min(plan.samples_per_rank, plan.steps_per_epoch * plan.local_batch);
  return job.workers() * (epochs * per_epoch + rest * plan.local_batch);
}

absl::StatusOr<std::vector<proto::Evaluation>> EvaluateAll(
    const proto::Job& job, const StepPlan& plan, const TrainingResult& training,
    int64_t train_time_ns, const Dataset& test, Model& model,
    const std::function<absl::Status()>& keep_going) {
  const std::span<const float> parameters = model.parameters().host();
  const std::vector<float> result_parameters(parameters.begin(), parameters.end());
  const std::vector<float> result_buffers = model.SaveBuffers();
  std::vector<proto::Evaluation> evaluations;
  for (const Snapshot& snapshot : training.snapshots) {
    RETURN_IF_ERROR(keep_going());
    Load(model, snapshot.parameters, snapshot.buffers);
    EvaluateNow(model, test, snapshot.step, snapshot.train_time_ns,
                SamplesAfter(snapshot.step, job, plan), evaluations);
  }
  RETURN_IF_ERROR(keep_going());
  Load(model, result_parameters, result_buffers);
  EvaluateNow(model, test, plan.total_steps, train_time_ns,
              SamplesAfter(plan.total_steps, job, plan), evaluations);
  return evaluations;
}

}  // namespace crossover::worker
