// The workers of a simulated training: each has its own shard of the data, and where steps are
// local its own parameters and optimizer. They share one model, which computes for whoever's turn
// it is, and no time passes: how long a computation takes is drawn.
#ifndef CROSSOVER_WORKER_SIMULATION_VIRTUAL_WORKERS_H_
#define CROSSOVER_WORKER_SIMULATION_VIRTUAL_WORKERS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/divergence.h"
#include "core/job.h"
#include "core/learning_rate.h"
#include "core/optimizer.h"
#include "proto/job.pb.h"
#include "worker/data/batch_loader.h"
#include "worker/data/dataset.h"
#include "worker/models/model.h"
#include "worker/straggler.h"

namespace crossover::worker {

// A step's compute, drawn evenly from [min, max] for each rank and step by the job's seed, before
// the job's straggler is slowed.
struct ComputeTimes {
  int64_t min_ns = 1;
  int64_t max_ns = 1;
};

// Not thread-safe. Memory: each worker's samples of an epoch and of a step; with local steps two or
// three times the parameters each.
class VirtualWorkers {
 public:
  // Borrows all but the plan; `job` is validated, its strategy goes through servers, and the plan
  // is MakeStepPlan's for the data.
  VirtualWorkers(const proto::Job& job, const StepPlan& plan, const ComputeTimes& times,
                 const Dataset& train, Model& model);

  // Of each worker that pushes: one a step, or one for the local steps between two exchanges.
  int64_t pushes() const { return static_cast<int64_t>(rounds_.size()); }
  // Steps that have been taken when the push begins.
  int64_t FirstStep(int64_t push) const { return rounds_[push].first; }
  // What the worker pushes, computed from the parameters that servers gave it: its gradient, its
  // group's mean gradient, or its own parameters after local steps.
  void Compute(int worker, int64_t push, std::span<const float> given, std::span<float> pushed);
  // How long that takes. In a group the slowest sets each step's pace.
  int64_t ComputeNs(int worker, int64_t push);
  // Samples that a push is computed from.
  int64_t Samples(int worker, int64_t push) const;

  // Mean loss of each step over the workers that have computed it so far; 0 where none has.
  std::vector<double> step_losses() const;
  // Whose training has ceased to learn first, at which step, and why; "" if nobody's.
  const std::string& divergence() const { return divergence_; }

 private:
  struct Round {
    int64_t first = 0;  // steps [first, end)
    int64_t end = 0;
  };
  struct State {
    std::unique_ptr<BatchLoader> shard;
    StragglerSchedule straggler;
    DivergenceWatch divergence;
    std::vector<float> parameters;  // of its own, with local steps
    std::unique_ptr<Optimizer> optimizer;
  };

  void MakeRounds();
  // Into the model's gradients, at the model's parameters.
  void ComputeGradient(int worker, int64_t step);
  void ComputeGroupGradient(int worker, int64_t step, std::span<float> pushed);
  void TakeLocalSteps(int worker, int64_t push, std::span<const float> given,
                      std::span<float> pushed);
  void SetParameters(std::span<const float> parameters);
  int64_t StepNs(int worker, int64_t step);

  const proto::Job& job_;
  const StepPlan plan_;
  const ComputeTimes times_;
  Model& model_;
  const LearningRateSchedule learning_rate_;
  const bool local_steps_;
  const int group_size_;
  std::vector<Round> rounds_;
  std::vector<State> states_;
  std::vector<double> loss_sums_;  // by step
  std::vector<int64_t> loss_counts_;
  std::string divergence_;
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_SIMULATION_VIRTUAL_WORKERS_H_
