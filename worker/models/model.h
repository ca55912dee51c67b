// What is trained. Behind this interface lies LibTorch (its header takes 20 s a
// translation unit, so it appears in worker/models/*.cc alone), or a layer profile that is waited
// out (emulated_model.h).
//
// Parameters and gradients live in one flat fp32 buffer each, 64-byte aligned;
// the model's tensors are views of them.
#ifndef CROSSOVER_WORKER_MODELS_MODEL_H_
#define CROSSOVER_WORKER_MODELS_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/clock.h"
#include "core/device_span.h"
#include "core/flat_layout.h"
#include "os/shared_memory.h"
#include "proto/job.pb.h"
#include "worker/data/batch.h"
#include "worker/data/dataset.h"

namespace crossover::worker {

struct EvaluationResult {
  double accuracy = 0;  // of all samples
  double loss = 0;      // mean cross-entropy
};

// Not thread-safe.
class Model {
 public:
  virtual ~Model() = default;
  virtual const FlatLayout& layout() const = 0;
  virtual DeviceSpan parameters() = 0;
  virtual DeviceSpan gradients() = 0;
  // Mean cross-entropy of a batch, times `weight`, differentiated: gradients are
  // ADDED to the gradient buffer. `ready` is called on this thread with a parameter's index once
  // its gradient is final for this call, last layers first; a parameter that
  // took no part is not announced. Returns the loss before weighting.
  virtual double ForwardBackward(const Batch& batch, double weight,
                                 const std::function<void(int)>& ready) = 0;
  // Of the model as it stands, in evaluation mode, in batches; none of a model that learns
  // nothing.
  virtual std::optional<EvaluationResult> Evaluate(const Dataset& dataset) = 0;
  // Values that are neither trained nor synchronised (batch-norm's running mean
  // and variance), copied out and in, so that a snapshot is complete.
  virtual std::vector<float> SaveBuffers() = 0;
  virtual void LoadBuffers(std::span<const float> buffers) = 0;
};

// Builds the job's model for the data's shape, its initial parameters drawn from
// the job's seed. Threads of the arithmetic library: one. An emulated model waits on `clock`,
// which outlives it, as the worker of this rank would compute. The flat buffers are from `shared`,
// which outlives the model, unless it is null: then other processes may read them in place.
absl::StatusOr<std::unique_ptr<Model>> MakeModel(const proto::Job& job, const DataShape& shape,
                                                 int rank, Clock& clock,
                                                 os::SharedBufferRegistry* shared = nullptr);

// PyTorch's order of an epoch: torch.randperm(n) with a generator seeded by seed + epoch.
std::vector<int64_t> EpochPermutation(int64_t n, uint64_t seed, int64_t epoch);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_MODELS_MODEL_H_
