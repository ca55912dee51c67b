// How much slower a worker computes in a step, as the job says: for ever or in bursts. A pure
// function of the job, the rank and the step: every rank knows it of every other.
//
// Bursts and the gaps between them alternate. With b = burst_steps and s = burst_share, a burst
// has a geometric length of mean b (1, 2, ... steps) and a gap one of mean g = b (1 - s) / s
// (0, 1, ... steps), both drawn by the job's seed; the first step lies in a burst with probability
// s. Then each step does, so that s is the expected share of any training, however short, and the
// share itself over many steps.
#ifndef CROSSOVER_WORKER_STRAGGLER_H_
#define CROSSOVER_WORKER_STRAGGLER_H_

#include <cstdint>
#include <random>

#include "proto/job.pb.h"

namespace crossover::worker {

// Not thread-safe: it remembers where it is.
class StragglerSchedule {
 public:
  // `job` has passed ValidateJob.
  explicit StragglerSchedule(const proto::Job& job);

  // At least 1: how many times as long the rank's compute takes in the step (from 0). Steps may
  // be asked for in any order; going back starts over.
  double Factor(int rank, int64_t step);

 private:
  void Restart();
  void NextBurst();
  double Uniform();
  int64_t Geometric(double success);

  const proto::Straggler straggler_;
  const uint64_t seed_;
  const int workers_;
  std::mt19937_64 random_;
  // The burst that has begun last or will begin next: steps [begin_, end_), on rank_.
  int64_t begin_ = 0;
  int64_t end_ = 0;
  int64_t asked_ = 0;  // the last step asked for
  int rank_ = -1;
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_STRAGGLER_H_
