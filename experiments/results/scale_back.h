// Turns the figures of an emulated run, which was slowed and shrunk, into those of what it
// emulates. Pure. docs/METRICS.md, "Emulated runs", lists which figures are scaled and which stay
// real.
#ifndef CROSSOVER_EXPERIMENTS_RESULTS_SCALE_BACK_H_
#define CROSSOVER_EXPERIMENTS_RESULTS_SCALE_BACK_H_

#include "experiments/results/result.h"
#include "proto/job.pb.h"

namespace crossover::experiments {

// 1 and 1 unless the model is emulated.
Scales ScalesOf(const proto::Job& job);

// `result` holds figures as measured; network, which the launcher scales, is left alone.
void ScaleBack(const Scales& scales, RunResult& result);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESULTS_SCALE_BACK_H_
