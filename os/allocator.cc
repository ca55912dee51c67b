#include "os/allocator.h"

#include <malloc.h>

namespace crossover::os {
namespace {

constexpr int kKeptBytesMax = 256 << 20;
// Larger blocks come from the system each by itself. The most that glibc takes.
constexpr int kMappedBytesMin = 32 << 20;
constexpr int kGrowthBytes = 1 << 20;

}  // namespace

void KeepFreedMemory() {
  mallopt(M_TRIM_THRESHOLD, kKeptBytesMax);
  mallopt(M_MMAP_THRESHOLD, kMappedBytesMin);
  mallopt(M_TOP_PAD, kGrowthBytes);
}

}  // namespace crossover::os
