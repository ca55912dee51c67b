// Which samples one rank trains on in a step, as micro-batches. A step's number
// alone decides: epoch = step / steps_per_epoch, position = step % steps_per_epoch;
// so there is no epoch to be set from outside, and none to be forgotten.
//
// With n the rank's samples of the epoch in the sampler's order (core/sampler.h) and
// b the rank's batch, position p takes samples [p b, min((p + 1) b, n)): the last
// step of an epoch may have fewer. They are cut into `accumulation` consecutive
// micro-batches whose sizes differ by at most one, the larger first; those that
// would be empty are left out. Micro-batch i weighs size_i / (samples of the step),
// so that the weighted sum of mean losses is the mean loss of one large batch.
#ifndef CROSSOVER_WORKER_DATA_BATCH_LOADER_H_
#define CROSSOVER_WORKER_DATA_BATCH_LOADER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/job.h"
#include "worker/data/batch.h"
#include "worker/data/dataset.h"

namespace crossover::worker {

struct MicroBatch {
  Batch batch;        // not empty
  double weight = 1;  // the weights of a step sum to 1
};

// Not thread-safe.
class BatchLoader {
 public:
  // The order of 0..n-1 in an epoch; worker/models/model.h has PyTorch's.
  using Permutation = std::function<std::vector<int64_t>(int64_t n, uint64_t seed, int64_t epoch)>;
  struct Options {
    uint64_t seed = 0;
    int accumulation = 1;  // positive
    bool drop_last = false;
    int rank = 0;
    int ranks = 1;
  };

  // `plan` is MakeStepPlan's for this data set and these ranks. The data set must
  // outlive the loader.
  BatchLoader(const Dataset& dataset, const StepPlan& plan, const Options& options,
              Permutation permutation);

  // The micro-batches of a step (from 0, in any order), valid until the next call. The
  // first call of an epoch also draws its permutation. Buffers are reused: after the
  // largest step no further call allocates for batches.
  std::span<const MicroBatch> Load(int64_t step);

  int64_t epoch(int64_t step) const { return step / plan_.steps_per_epoch; }
  // Samples that Load(step) gives.
  int64_t samples(int64_t step) const;

 private:
  void EnterEpoch(int64_t epoch);

  const Dataset& dataset_;
  const StepPlan plan_;
  const Options options_;
  const Permutation permutation_;
  const BatchFiller filler_;
  int64_t loaded_epoch_ = -1;
  std::vector<int64_t> rank_samples_;  // of loaded_epoch_
  std::vector<MicroBatch> micro_batches_;
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_DATA_BATCH_LOADER_H_
