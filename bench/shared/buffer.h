// Memory for the values of a collective: of this process alone, in huge pages where the kernel
// gives them, or from an allocator of the transport's.
#ifndef CROSSOVER_BENCH_SHARED_BUFFER_H_
#define CROSSOVER_BENCH_SHARED_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"

namespace crossover::bench {

// Movable; owns its memory, or shares its owner.
class Buffer {
 public:
  Buffer() = default;
  // Zeroed. Errors: no such memory.
  static absl::StatusOr<Buffer> Private(int64_t bytes);
  // Memory of another owner, which `memory` keeps alive.
  explicit Buffer(std::shared_ptr<std::byte> memory) : memory_(std::move(memory)) {}

  std::byte* data() const { return memory_.get(); }

 private:
  std::shared_ptr<std::byte> memory_;
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_SHARED_BUFFER_H_
