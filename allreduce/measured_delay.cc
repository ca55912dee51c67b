#include "allreduce/measured_delay.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/status.h"

namespace crossover::allreduce {
namespace {

constexpr double kDelayMinUs = 200;
// The quickest barrier counts. Where all of a series were slow, others may have had the cores: it
// is repeated, but not where that would take a user's time.
constexpr int kBarriersOfASeries = 8;
constexpr int kSeriesMax = 6;
constexpr double kSlowUs = 2000;

// Of one series, the same on every rank.
absl::StatusOr<double> SlowestRanksBarrierUs(Communicator& communicator, const Clock& clock) {
  double least_us = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kBarriersOfASeries; ++i) {
    const int64_t begin_ns = clock.NowNs();
    RETURN_IF_ERROR(communicator.Run(
        {.kind = Kind::kBarrier, .name = "network delay", .algorithm = Algorithm::kDissemination}));
    least_us = std::min(least_us, static_cast<double>(clock.NowNs() - begin_ns) / 1e3);
  }
  RETURN_IF_ERROR(communicator.Run({.type = DataType::kFloat64,
                                    .op = ReduceOp::kMax,
                                    .count = 1,
                                    .input = &least_us,
                                    .output = &least_us,
                                    .name = "network delay",
                                    .algorithm = Algorithm::kRecursiveDoubling}));
  return least_us;
}

}  // namespace

absl::StatusOr<CostFit> WithMeasuredDelay(Communicator& communicator, CostFit fit,
                                          const Clock& clock) {
  if (communicator.world_size() == 1) return fit;
  const Place place = {.rank = 0, .world_size = communicator.world_size()};
  const double steps =
      CostsOf(Kind::kBarrier, Algorithm::kDissemination, place, 0).between_hosts.steps;
  double step_us = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kSeriesMax && (i == 0 || step_us < kSlowUs); ++i) {
    ASSIGN_OR_RETURN(const double barrier_us, SlowestRanksBarrierUs(communicator, clock));
    step_us = std::min(step_us, barrier_us / steps);
    if (step_us < kDelayMinUs) return fit;
  }
  fit.alpha_us = step_us;
  return fit;
}

}  // namespace crossover::allreduce
