// Why a measured step and its prediction part: rules that look for a cause in the figures of
// the run itself. A rule says what it saw, in its own words, or nothing. Likely reasons, not
// proofs: none of them repeats the run without the cause. Pure.
#ifndef CROSSOVER_EXPERIMENTS_PREDICTION_PREDICTION_DIFFERENCE_H_
#define CROSSOVER_EXPERIMENTS_PREDICTION_PREDICTION_DIFFERENCE_H_

#include <optional>
#include <string>

#include "experiments/prediction/cost_model.h"
#include "experiments/results/result.h"

namespace crossover::experiments {

struct Difference {
  const RunResult& run;
  const Cost& cost;
  double predicted_rest_ms = 0;  // data and update
  bool slow_worker_predicted = false;
  // Measured less predicted: of the step, or where steps agree and the shares do not, of the
  // exposed communication.
  double excess_ms = 0;
};

// Whether step time and share are both within kAgreement of the prediction; shares that are
// no more than 3 percentage points apart agree.
bool Agrees(const RunResult& run, const Cost& cost);
Difference MakeDifference(const RunResult& run, const Cost& cost, double predicted_rest_ms,
                          bool slow_worker_predicted);

using Reason = std::optional<std::string>;
// Each of these needs an excess; the first five a cause that makes up 30% of it.
Reason StragglerReason(const Difference& difference);
Reason StalenessHoldReason(const Difference& difference);
Reason ImbalanceReason(const Difference& difference);
// Compute longer or shorter than predicted; contention where processes outnumber the cores.
Reason ComputeReason(const Difference& difference);
// Data, update and time in no span.
Reason RestReason(const Difference& difference);
// A server that works more than 70% of the time on one core.
Reason ServerCpuReason(const Difference& difference);
// All processes together use more than 80% of the one machine they share.
Reason ContentionReason(const Difference& difference);
// Latency is 30% of the exchange or more.
Reason LatencyReason(const Difference& difference);
// A bucket's piece for one peer is smaller than 64 KiB.
Reason SmallBucketsReason(const Difference& difference);

// The first two rules that see something, or that none does.
std::string ExplainDifference(const Difference& difference);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_PREDICTION_PREDICTION_DIFFERENCE_H_
