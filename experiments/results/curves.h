// How a run learnt: loss and accuracy against time and samples. Time counts from
// the first worker's start of training, on the rendezvous's clock. Pure.
#ifndef CROSSOVER_EXPERIMENTS_RESULTS_CURVES_H_
#define CROSSOVER_EXPERIMENTS_RESULTS_CURVES_H_

#include <cstdint>
#include <vector>

#include "experiments/results/result.h"
#include "experiments/results/run_reports.h"

namespace crossover::experiments {

// Samples that all workers had processed by a time (rendezvous clock); within a step
// they count in proportion to its time.
double SamplesBy(const AlignedRun& run, int64_t time_ns);

// The steps of all workers in the order in which they ended, cut into at most
// kCurvePoints windows of equally many. A point stands at its window's end; its loss
// is the mean over the window's samples, so nothing is left out by the thinning.
// NaN where a loss of the window is not finite.
std::vector<LossPoint> LossCurve(const AlignedRun& run);

// The evaluations of the snapshots, by time. A snapshot is taken in the training and
// evaluated after it, so evaluating takes no time here.
std::vector<AccuracyPoint> AccuracyCurve(const AlignedRun& run);

// One step that every worker kept the spans of, of several the one with the most
// communication; step -1 if there is none.
StepPicture PictureOfStep(const AlignedRun& run);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESULTS_CURVES_H_
