#include "worker/models/aligned_floats.h"

#include <algorithm>

#include "core/check.h"

namespace crossover::worker {
namespace {

constexpr size_t kAlignmentBytes = 64;

}  // namespace

AlignedFloats MakeZeros(int64_t length) {
  const size_t bytes = length * sizeof(float);
  // aligned_alloc wants a multiple of the alignment; one more line also for nothing.
  const size_t rounded = (bytes / kAlignmentBytes + 1) * kAlignmentBytes;
  auto* data = static_cast<float*>(std::aligned_alloc(kAlignmentBytes, rounded));
  CROSSOVER_CHECK(data != nullptr, "memory for the model's parameters");
  std::fill_n(data, rounded / sizeof(float), 0.0f);
  return AlignedFloats(data);
}

}  // namespace crossover::worker
