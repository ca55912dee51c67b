// The learning rate of a step: scaling with the global batch, linear warm-up
// from 0, then constant or cosine decay to 0 (facts: linear and square-root
// scaling are Goyal et al. 2017 and Krizhevsky 2014). Pure.
#ifndef CROSSOVER_CORE_LEARNING_RATE_H_
#define CROSSOVER_CORE_LEARNING_RATE_H_

#include <cstdint>

#include "proto/job.pb.h"

namespace crossover {

// A schedule over `total_steps` optimizer steps.
class LearningRateSchedule {
 public:
  // `config` must have passed ValidateJob.
  LearningRateSchedule(const proto::LearningRate& config, int64_t global_batch,
                       int64_t total_steps);
  // The peak, after scaling.
  double peak() const { return peak_; }
  int64_t warmup_steps() const { return warmup_steps_; }
  // Step counts from 0. In warm-up: peak * step / warmup_steps, so step 0 has 0
  // only if there is a warm-up. After it, cosine: peak/2 (1 + cos(pi p)) with
  // p = (step - warmup) / (total - warmup). Steps past the end have the end's rate.
  double At(int64_t step) const;

 private:
  double peak_;
  int64_t warmup_steps_;
  int64_t total_steps_;
  bool cosine_;
};

// What a server multiplies the rate with for one update: 1 where an update is made of
// several contributions; where each push is an update (ps_ssp, ps_async, ps_async_dc, ps_groups),
// what job.ps.push_rate says; 1 in ps_async_scaled, which divides by the push's staleness instead
// (ps/policy.h). `job` must have passed ValidateJob.
double PushRateFactor(const proto::Job& job);

}  // namespace crossover

#endif  // CROSSOVER_CORE_LEARNING_RATE_H_
