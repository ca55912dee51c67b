// The few steps of a training whose spans every process keeps whole, so that the reports can
// show them: a picture of a step, and the trace. Pure; the job must have passed ValidateJob.
#ifndef CROSSOVER_CORE_KEPT_STEPS_H_
#define CROSSOVER_CORE_KEPT_STEPS_H_

#include <cstdint>
#include <vector>

#include "proto/job.pb.h"

namespace crossover {

// In the middle of the training: three, or two rounds of local steps, so that a picture shows
// an averaging step among local ones; at most 32.
std::vector<int64_t> PicturedSteps(const proto::Job& job, int64_t total_steps);

// Those, the first measured step and the last; each once, in order.
std::vector<int64_t> KeptSteps(const proto::Job& job, int64_t total_steps);

}  // namespace crossover

#endif  // CROSSOVER_CORE_KEPT_STEPS_H_
