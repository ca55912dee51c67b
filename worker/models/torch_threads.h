// How many threads LibTorch computes with.
#ifndef CROSSOVER_WORKER_MODELS_TORCH_THREADS_H_
#define CROSSOVER_WORKER_MODELS_TORCH_THREADS_H_

namespace crossover::worker {

// As LibTorch itself says, of operations that the calling thread starts.
int TorchThreads();

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_MODELS_TORCH_THREADS_H_
