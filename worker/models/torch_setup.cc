#include "worker/models/torch_setup.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include "worker/models/torch_threads.h"

namespace crossover::worker {

void SetUpTorch(uint64_t seed) {
  at::set_num_threads(1);
  // LibTorch takes this number once in a process's life and throws the second time.
  if (at::get_num_interop_threads() != 1) at::set_num_interop_threads(1);
  at::manual_seed(seed);
}

int TorchThreads() { return at::get_num_threads(); }

}  // namespace crossover::worker
