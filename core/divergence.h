// Whether a worker's training has ceased to learn, by the job's `divergence`, and what its user is
// told then.
#ifndef CROSSOVER_CORE_DIVERGENCE_H_
#define CROSSOVER_CORE_DIVERGENCE_H_

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "core/strategy.h"
#include "proto/job.pb.h"

namespace crossover {

// Fed with the losses of one worker. Memory: the rule's window. Not thread-safe.
class DivergenceWatch {
 public:
  // `rule` must have passed ValidateJob.
  explicit DivergenceWatch(const proto::Divergence& rule) : rule_(rule) {}

  // Takes the mean loss of the next step; what is wrong with the losses so far, "" if nothing.
  std::string Add(double loss);

 private:
  const proto::Divergence rule_;
  std::deque<double> window_;
  double lowest_mean_ = std::numeric_limits<double>::infinity();
};

// The end of a run: who, when, what, the staleness that the worker has seen, what to try.
absl::Status DivergenceError(const proto::Job& job, int rank, int64_t step, const std::string& what,
                             const StrategyCounters& counters);
// Whether a failed run's reason is such an end: the training's, and no process's or network's.
bool SaysDiverged(std::string_view reason);

}  // namespace crossover

#endif  // CROSSOVER_CORE_DIVERGENCE_H_
