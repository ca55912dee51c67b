#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randperm.h>

#include "worker/models/model.h"

namespace crossover::worker {

std::vector<int64_t> EpochPermutation(int64_t n, uint64_t seed, int64_t epoch) {
  at::Generator generator =
      at::make_generator<at::CPUGeneratorImpl>(seed + static_cast<uint64_t>(epoch));
  const at::Tensor order = at::randperm(n, generator, at::TensorOptions().dtype(at::kLong));
  const int64_t* data = order.data_ptr<int64_t>();
  return {data, data + n};
}

}  // namespace crossover::worker
