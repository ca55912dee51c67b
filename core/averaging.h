// LocalSGD's pure rules: when parameters are averaged, and the outer optimizer
// that takes the place of plain averaging (SlowMo, DiLoCo).
#ifndef CROSSOVER_CORE_AVERAGING_H_
#define CROSSOVER_CORE_AVERAGING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "proto/job.pb.h"

namespace crossover {

// After which optimizer steps the parameters are averaged. PyTorch's
// PeriodicModelAverager: average iff step >= first_phase and
// (step - first_phase) % H == 0, with steps counted from 0; before that, in the
// first phase, after every step.
struct AveragingSchedule {
  int64_t local_steps = 1;        // H, positive
  int64_t first_phase_steps = 0;  // not negative

  bool InFirstPhase(int64_t step) const { return step < first_phase_steps; }
  bool AveragesAfter(int64_t step) const {
    return InFirstPhase(step) || (step - first_phase_steps) % local_steps == 0;
  }
};

// The job's schedule over `total_steps` steps. `config` must have passed ValidateJob.
AveragingSchedule MakeAveragingSchedule(const proto::LocalSgd& config, int64_t total_steps);

// theta_old - mean(theta_local) taken as a gradient of SGD with Nesterov
// momentum: v = mu v + g, from v = 0; theta = theta_old - lr (g + mu v). With lr 1
// and mu 0 it is plain averaging and gives mean(theta_local) to the bit. Elementwise:
// cutting the stretch changes no bit. One stretch of parameters; not thread-safe.
class OuterOptimizer {
 public:
  OuterOptimizer(double learning_rate, double momentum, int64_t length);
  // True where it is plain averaging and needs neither theta_old nor state.
  bool IsPlainAverage() const;
  // parameters: theta_old on entry, the new theta on return. mean: mean(theta_local)
  // of the same range [offset, offset + size) of the stretch (CHECK: equal sizes,
  // inside it).
  void Apply(int64_t offset, std::span<float> parameters, std::span<const float> mean);
  int64_t state_bytes() const;

 private:
  double learning_rate_;
  double momentum_;
  int64_t length_;
  std::vector<float> velocity_;
};

}  // namespace crossover

#endif  // CROSSOVER_CORE_AVERAGING_H_
