// LibTorch's process-wide state that a model depends on.
#ifndef CROSSOVER_WORKER_MODELS_TORCH_SETUP_H_
#define CROSSOVER_WORKER_MODELS_TORCH_SETUP_H_

#include <cstdint>

namespace crossover::worker {

// One thread for arithmetic and one between operations (several workers share a
// machine, and sums must not depend on its number of cores); the global generator
// starts from `seed`. May be called again; from one thread at a time.
void SetUpTorch(uint64_t seed);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_MODELS_TORCH_SETUP_H_
