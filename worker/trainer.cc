#include "worker/trainer.h"

#include <algorithm>

#include "core/emulation.h"
#include "core/reduce.h"
#include "core/status.h"
#include "core/strategy_traits.h"

namespace crossover::worker {

Trainer::Trainer(const Options& options, Model& model, Strategy& strategy, Timeline& timeline,
                 Clock& clock)
    : options_(options),
      model_(model),
      strategy_(strategy),
      timeline_(timeline),
      clock_(clock),
      tracker_(options.buckets),
      straggler_(options.job),
      sum_(options.shards.size() > 1 ? model.gradients().length : 0) {}

absl::StatusOr<TrainingResult> Trainer::Run() {
  TrainingResult result;
  result.start_ns = clock_.NowNs();
  int64_t next_step = 0;
  for (int64_t step = 0; step < options_.plan.total_steps; step = next_step) {
    timeline_.BeginStep(step);
    ASSIGN_OR_RETURN(const double loss, RunStep(step));
    int64_t samples = 0;
    for (const BatchLoader* shard : options_.shards) samples += shard->samples(step);
    timeline_.EndStep(samples, loss);
    RETURN_IF_ERROR(options_.after_step(step, samples, loss));
    next_step = strategy_.NextStep(step);
    if (SnapshotDue(step, next_step)) {
      result.snapshots.push_back(TakeSnapshot(next_step, result.start_ns));
    }
  }
  result.end_ns = clock_.NowNs();
  return result;
}

absl::StatusOr<double> Trainer::RunStep(int64_t step) {
  strategy_.BeginStep(step);
  tracker_.Reset();
  const double loss = options_.shards.size() == 1
                          ? ComputeShard(*options_.shards.front(), step, /*announce=*/true)
                          : ComputeShards(step);
  AnnounceRest();
  RETURN_IF_ERROR(strategy_.EndStep());
  return loss;
}

double Trainer::ComputeShards(int64_t step) {
  double loss = 0;
  const std::span<float> gradients = model_.gradients().host();
  for (size_t i = 0; i < options_.shards.size(); ++i) {
    loss += ComputeShard(*options_.shards[i], step, /*announce=*/false);
    ScopedSpan span(timeline_, SpanKind::kCompute);
    if (i == 0) {
      std::copy(gradients.begin(), gradients.end(), sum_.begin());
    } else {
      AddInto(sum_, gradients);
    }
  }
  ScopedSpan span(timeline_, SpanKind::kCompute);
  std::copy(sum_.begin(), sum_.end(), gradients.begin());
  return loss / static_cast<double>(options_.shards.size());
}

double Trainer::ComputeShard(BatchLoader& shard, int64_t step, bool announce) {
  std::span<const MicroBatch> micro_batches;
  {
    ScopedSpan span(timeline_, SpanKind::kData);
    micro_batches = shard.Load(step);
  }
  ScopedSpan span(timeline_, SpanKind::kCompute);
  const int64_t start_ns = clock_.NowNs();
  const std::span<float> gradients = model_.gradients().host();
  std::fill(gradients.begin(), gradients.end(), 0.0f);
  const auto ignore = [](int) {};
  // A slow rank's gradients are late, too: a straggler announces all of its buckets at
  // the end (AnnounceRest), when it has been slow.
  const double slow_down = SlowDownOf(step);
  announce = announce && slow_down == 1;
  const auto announce_bucket = [this](int parameter) {
    if (const int bucket = tracker_.ParameterReady(parameter); bucket >= 0) {
      strategy_.BucketReady(bucket);
    }
  };
  double loss = 0;
  for (const MicroBatch& micro : micro_batches) {
    // Gradients are final, and so may travel, only in the last micro-batch.
    const bool last = &micro == &micro_batches.back();
    loss += micro.weight * model_.ForwardBackward(micro.batch, micro.weight,
                                                  announce && last
                                                      ? std::function<void(int)>(announce_bucket)
                                                      : std::function<void(int)>(ignore));
  }
  const auto compute_ns = static_cast<double>(clock_.NowNs() - start_ns);
  clock_.SleepNs(static_cast<int64_t>(compute_ns * (slow_down - 1)));
  return loss;
}

void Trainer::AnnounceRest() {
  for (const int bucket : tracker_.CompleteRest()) strategy_.BucketReady(bucket);
}

double Trainer::SlowDownOf(int64_t step) {
  return IsEmulated(options_.job) ? 1 : straggler_.Factor(options_.rank, step);
}

bool Trainer::SnapshotDue(int64_t step, int64_t next_step) const {
  if (!options_.keep_snapshots) return false;
  // The last step's parameters are evaluated after the strategy has finished.
  if (next_step >= options_.plan.total_steps) return false;
  const int64_t interval = EvaluationInterval(options_.job, options_.plan.steps_per_epoch);
  return next_step / interval > step / interval;
}

Snapshot Trainer::TakeSnapshot(int64_t steps_done, int64_t start_ns) {
  Snapshot snapshot;
  snapshot.step = steps_done;
  snapshot.train_time_ns = clock_.NowNs() - start_ns;
  const std::span<const float> parameters = model_.parameters().host();
  snapshot.parameters.assign(parameters.begin(), parameters.end());
  snapshot.buffers = model_.SaveBuffers();
  return snapshot;
}

}  // namespace crossover::worker
