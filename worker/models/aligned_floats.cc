#include "worker/models/aligned_floats.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "absl/status/statusor.h"
#include "core/check.h"

namespace crossover::worker {
namespace {

constexpr size_t kCacheLineBytes = 64;
constexpr size_t kHugePageBytes = 2 << 20;

}  // namespace

void FreeFloats::operator()(float* values) const {
  if (shared != nullptr) {
    shared->Free(reinterpret_cast<std::byte*>(values));
  } else {
    std::free(values);
  }
}

AlignedFloats MakeZeros(int64_t length, os::SharedBufferRegistry* shared) {
  const size_t bytes = static_cast<size_t>(length) * sizeof(float);
  if (shared != nullptr) {
    const absl::StatusOr<std::byte*> memory = shared->Allocate("model", bytes);
    if (memory.ok()) return AlignedFloats(reinterpret_cast<float*>(*memory), FreeFloats{shared});
  }
  const bool huge = bytes >= kHugePageBytes;
  const size_t alignment = huge ? kHugePageBytes : kCacheLineBytes;
  // aligned_alloc wants a multiple of the alignment; a piece more also for nothing.
  const size_t rounded = (bytes / alignment + 1) * alignment;
  auto* data = static_cast<float*>(std::aligned_alloc(alignment, rounded));
  CROSSOVER_CHECK(data != nullptr, "memory for the model's parameters");
  if (huge) madvise(data, rounded, MADV_HUGEPAGE);  // a wish
  std::fill_n(data, bytes / sizeof(float), 0.0f);
  return AlignedFloats(data, FreeFloats{});
}

}  // namespace crossover::worker
