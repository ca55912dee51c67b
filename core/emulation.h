// What an emulated job's layers come to once they have been scaled: the waits, and the values
// that travel. For the worker that waits them out and for whoever foretells a run. Pure.
//
//   time of a layer    profile's x time_scale / compute_speed
//   values of a layer  ceil(gradient_bytes / bytes_scale / 4), so at least 1 if it has any
//
// Parts (ps.part_bytes) and chunks (allreduce.chunk_bytes) keep their sizes: fewer of them travel.
// A layer's bytes are rounded up to whole values, which the report, scaling back, shows
// bytes_scale times as large.
#ifndef CROSSOVER_CORE_EMULATION_H_
#define CROSSOVER_CORE_EMULATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/flat_layout.h"
#include "proto/job.pb.h"

namespace crossover {

// Whether the model is a layer profile: it reads no data set and learns nothing.
bool IsEmulated(const proto::Job& job);

struct EmulatedLayer {
  std::string name;
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t values = 0;  // fp32, of its gradient
};
// In the order of the forward pass. `emulated` has passed ValidateJob.
std::vector<EmulatedLayer> ScaledLayers(const proto::Emulated& emulated);

// Bucket sizes that cut the shrunken gradients where the job's sizes would cut the whole ones.
struct BucketSizes {
  int64_t first_bytes = 0;  // positive, as is the next
  int64_t bytes = 0;
};
BucketSizes ScaledBucketSizes(const proto::Job& job);

// One parameter for each layer that has values, the last layer first.
FlatLayout EmulatedLayout(const std::vector<EmulatedLayer>& layers);

}  // namespace crossover

#endif  // CROSSOVER_CORE_EMULATION_H_
