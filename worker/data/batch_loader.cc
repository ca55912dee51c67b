#include "worker/data/batch_loader.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/sampler.h"

namespace crossover::worker {

BatchLoader::BatchLoader(const Dataset& dataset, const StepPlan& plan, const Options& options,
                         Permutation permutation)
    : dataset_(dataset),
      plan_(plan),
      options_(options),
      permutation_(std::move(permutation)),
      filler_(dataset) {
  CROSSOVER_CHECK(options.accumulation > 0, "the job was validated");
  CROSSOVER_CHECK(options.rank >= 0 && options.rank < options.ranks, "the rank exists");
  CROSSOVER_CHECK(
      plan.samples_per_rank == SamplesPerRank(dataset.size(), options.ranks, options.drop_last),
      "the plan was made for this data set and these ranks");
  CROSSOVER_CHECK(plan.local_batch > 0 && plan.steps_per_epoch > 0, "a step has samples");
  CROSSOVER_CHECK((plan.steps_per_epoch - 1) * plan.local_batch < plan.samples_per_rank,
                  "an epoch's last step has samples");
  micro_batches_.resize(options.accumulation);
}

int64_t BatchLoader::samples(int64_t step) const {
  const int64_t begin = (step % plan_.steps_per_epoch) * plan_.local_batch;
  return std::min(plan_.local_batch, plan_.samples_per_rank - begin);
}

void BatchLoader::EnterEpoch(int64_t epoch) {
  const std::vector<int64_t> order = permutation_(dataset_.size(), options_.seed, epoch);
  CROSSOVER_CHECK(static_cast<int64_t>(order.size()) == dataset_.size(),
                  "a permutation names every sample");
  rank_samples_ = RankSamples(order, options_.rank, options_.ranks, options_.drop_last);
  loaded_epoch_ = epoch;
}

std::span<const MicroBatch> BatchLoader::Load(int64_t step) {
  CROSSOVER_CHECK(step >= 0, "steps count from 0");
  if (epoch(step) != loaded_epoch_) EnterEpoch(epoch(step));
  const int64_t step_samples = samples(step);
  std::span<const int64_t> rest = std::span(rank_samples_)
                                      .subspan((step % plan_.steps_per_epoch) * plan_.local_batch,
                                               static_cast<size_t>(step_samples));
  const int64_t parts = std::min<int64_t>(options_.accumulation, step_samples);
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t size = step_samples / parts + (i < step_samples % parts ? 1 : 0);
    filler_.Fill(rest.first(size), micro_batches_[i].batch);
    micro_batches_[i].weight = static_cast<double>(size) / static_cast<double>(step_samples);
    rest = rest.subspan(size);
  }
  return std::span(micro_batches_).first(parts);
}

}  // namespace crossover::worker
