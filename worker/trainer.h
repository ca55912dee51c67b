// The training loop. It knows the model, the data and that there is a strategy,
// not which one. Everything is recorded on the timeline.
#ifndef CROSSOVER_WORKER_TRAINER_H_
#define CROSSOVER_WORKER_TRAINER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "core/bucket_plan.h"
#include "core/clock.h"
#include "core/job.h"
#include "core/strategy.h"
#include "core/timeline.h"
#include "proto/job.pb.h"
#include "worker/data/batch_loader.h"
#include "worker/models/model.h"
#include "worker/straggler.h"

namespace crossover::worker {

// The model as it was at the end of a step, to be evaluated off the clock.
struct Snapshot {
  int64_t step = 0;           // steps done, by this rank or without it
  int64_t train_time_ns = 0;  // since the start of the training loop
  std::vector<float> parameters;
  std::vector<float> buffers;
};

struct TrainingResult {
  int64_t start_ns = 0;  // of the loop, on the timeline's clock
  int64_t end_ns = 0;
  std::vector<Snapshot> snapshots;
};

// Runs on the calling thread, the compute thread. Borrows everything.
class Trainer {
 public:
  struct Options {
    const proto::Job& job;  // validated
    const StepPlan& plan;
    const BucketPlan& buckets;
    int rank = 0;
    // The ranks whose shards of the data this process computes, in order: its own,
    // or for a single process all of them, whose gradients it sums in this order.
    std::vector<BatchLoader*> shards;
    bool keep_snapshots = false;
    // Called after every step (for the heartbeats); an error ends the training.
    std::function<absl::Status(int64_t step, int64_t samples, double loss)> after_step;
  };
  Trainer(const Options& options, Model& model, Strategy& strategy, Timeline& timeline,
          Clock& clock);

  // All steps. Blocks.
  absl::StatusOr<TrainingResult> Run();

 private:
  // Mean loss over the samples of the step here.
  absl::StatusOr<double> RunStep(int64_t step);
  // One shard's gradients, in place of what the gradient buffer held; announces
  // buckets to the strategy if told to. Returns the shard's mean loss.
  double ComputeShard(BatchLoader& shard, int64_t step, bool announce);
  // All shards, their gradients summed in order.
  double ComputeShards(int64_t step);
  void AnnounceRest();
  bool SnapshotDue(int64_t step, int64_t next_step) const;
  Snapshot TakeSnapshot(int64_t steps_done, int64_t start_ns);
  // How many times as long the compute of this step takes here on purpose. An emulated model
  // waits that out itself, each gradient in its turn.
  double SlowDownOf(int64_t step);

  const Options options_;
  Model& model_;
  Strategy& strategy_;
  Timeline& timeline_;
  Clock& clock_;
  BucketTracker tracker_;
  StragglerSchedule straggler_;
  std::vector<float> sum_;  // of the shards' gradients; empty for one shard
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_TRAINER_H_
