// Memory for the flat buffers of models: fp32 values, aligned to cache lines, on huge pages where
// the system gives them.
#ifndef CROSSOVER_WORKER_MODELS_ALIGNED_FLOATS_H_
#define CROSSOVER_WORKER_MODELS_ALIGNED_FLOATS_H_

#include <cstdint>
#include <memory>

#include "os/shared_memory.h"

namespace crossover::worker {

struct FreeFloats {
  os::SharedBufferRegistry* shared = nullptr;  // which the memory is of; null: it is malloc's
  void operator()(float* values) const;
};
using AlignedFloats = std::unique_ptr<float[], FreeFloats>;

// 64-byte aligned zeros, from `shared` (which outlives them) where it is not null and has the
// memory, so that other processes of this host may read them in place. A machine without the
// memory for them ends the process (CHECK).
AlignedFloats MakeZeros(int64_t length, os::SharedBufferRegistry* shared);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_MODELS_ALIGNED_FLOATS_H_
