#include "bench/shared/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace crossover::bench {

absl::StatusOr<Buffer> Buffer::Private(int64_t bytes) {
  const size_t mapped = std::max<int64_t>(bytes, 1);
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("no memory for a buffer of ", bytes, " bytes; fix: smaller --sizes"));
  }
  madvise(memory, mapped, MADV_HUGEPAGE);  // a wish
  return Buffer(std::shared_ptr<std::byte>(static_cast<std::byte*>(memory),
                                           [mapped](std::byte* at) { munmap(at, mapped); }));
}

}  // namespace crossover::bench
