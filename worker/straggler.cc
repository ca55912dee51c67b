#include "worker/straggler.h"

#include <algorithm>
#include <cmath>

namespace crossover::worker {
namespace {

// Apart from whatever else draws by the job's seed.
constexpr uint64_t kSalt = 0x7374726167676c65;

}  // namespace

StragglerSchedule::StragglerSchedule(const proto::Job& job)
    : straggler_(job.straggler()), seed_(job.seed() ^ kSalt), workers_(job.workers()) {
  Restart();
}

double StragglerSchedule::Factor(int rank, int64_t step) {
  if (straggler_.rank() < 0) return 1;
  if (straggler_.burst_steps() == 0) return rank == straggler_.rank() ? straggler_.factor() : 1;
  if (step < asked_) Restart();
  asked_ = step;
  while (step >= end_) NextBurst();
  return step >= begin_ && rank == rank_ ? straggler_.factor() : 1;
}

void StragglerSchedule::Restart() {
  random_.seed(seed_);
  begin_ = end_ = asked_ = 0;
  rank_ = -1;
}

void StragglerSchedule::NextBurst() {
  const auto burst_steps = static_cast<double>(straggler_.burst_steps());
  const double share = straggler_.burst_share();
  const bool first = rank_ < 0;
  // A gap of g steps on average, 0 included, ends at each step with probability 1 / (1 + g).
  const double gap_end = 1 / (1 + burst_steps * (1 - share) / share);
  int64_t gap = 0;
  if (!first) {
    gap = Geometric(gap_end) - 1;
  } else if (Uniform() >= share) {
    gap = Geometric(gap_end);  // it has at least this step
  }
  begin_ = end_ + gap;
  end_ = begin_ + Geometric(1 / burst_steps);
  rank_ = straggler_.rank();
  if (straggler_.wanders() && !first) {
    const auto drawn = static_cast<int>(Uniform() * workers_);
    rank_ = std::min(drawn, workers_ - 1);
  }
}

// From 0 to below 1. The standard's distributions differ between libraries, its engine does not.
double StragglerSchedule::Uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

// 1, 2, ...: trials until the first success.
int64_t StragglerSchedule::Geometric(double success) {
  if (success >= 1) return 1;
  const double failures = std::floor(std::log1p(-Uniform()) / std::log1p(-success));
  return 1 + static_cast<int64_t>(failures);
}

}  // namespace crossover::worker
