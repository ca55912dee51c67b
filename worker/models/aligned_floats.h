// Memory for the flat buffers of models: fp32 values, aligned to cache lines.
#ifndef CROSSOVER_WORKER_MODELS_ALIGNED_FLOATS_H_
#define CROSSOVER_WORKER_MODELS_ALIGNED_FLOATS_H_

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace crossover::worker {

struct FreeDeleter {
  void operator()(float* p) const { std::free(p); }
};
using AlignedFloats = std::unique_ptr<float[], FreeDeleter>;

// 64-byte aligned zeros. A machine without the memory for them ends the process (CHECK).
AlignedFloats MakeZeros(int64_t length);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_MODELS_ALIGNED_FLOATS_H_
