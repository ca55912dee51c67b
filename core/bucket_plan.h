// How the flat gradient buffer is cut into buckets, the units that are
// synchronised while the backward pass still runs. A pure function of the
// layout and two sizes, so every rank has the same plan.
//
// Rule (PyTorch DDP's): walk the parameters in buffer order; a bucket is closed
// by the first parameter that takes it to its size. The first bucket has a size
// of its own, small, so that communication starts early. A parameter is never
// cut here, so a bucket can be larger than its size. Unlike DDP, parameters
// without values at the end of the layout join the last bucket: a bucket is empty
// only if the whole layout is.
//
// Values and pure functions, thread-safe, but for BucketTracker.
#ifndef CROSSOVER_CORE_BUCKET_PLAN_H_
#define CROSSOVER_CORE_BUCKET_PLAN_H_

#include <cstdint>
#include <vector>

#include "core/flat_layout.h"

namespace crossover {

struct Bucket {
  int id = 0;
  int64_t offset = 0;  // fp32 values
  int64_t length = 0;  // fp32 values
  int first_parameter = 0;
  int parameter_count = 0;
};

struct BucketPlan {
  std::vector<Bucket> buckets;        // by offset, without gaps
  std::vector<int> parameter_bucket;  // parameter index -> bucket id
};

// Sizes are bytes and positive. An empty layout gives no buckets.
BucketPlan MakeBucketPlan(const FlatLayout& layout, int64_t first_bytes, int64_t bytes);

// Tells when a bucket's last gradient has come. Not thread-safe: it belongs to
// the compute thread.
class BucketTracker {
 public:
  // The plan must outlive the tracker.
  explicit BucketTracker(const BucketPlan& plan);
  // Forgets all gradients: a new step.
  void Reset();
  // Notes that a parameter's gradient is final and returns the id of the bucket
  // that this completes, or -1. The same parameter twice in a step is a bug
  // (CHECK-fails).
  int ParameterReady(int parameter);
  // Completes every bucket that still waits (parameters without a gradient,
  // which count as zeros) and returns their ids in buffer order.
  std::vector<int> CompleteRest();

 private:
  const BucketPlan& plan_;
  std::vector<int> missing_;  // by bucket
  std::vector<bool> seen_;    // by parameter
};

}  // namespace crossover

#endif  // CROSSOVER_CORE_BUCKET_PLAN_H_
