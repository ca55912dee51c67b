// FNV-1a of 64 bits (isthe.com/chongo/tech/comp/fnv): equal bytes, equal hashes. It tells
// accidents apart, not adversaries. Pure, thread-safe.
#ifndef CROSSOVER_CORE_FNV1A_H_
#define CROSSOVER_CORE_FNV1A_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace crossover {

inline uint64_t Fnv1a(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace crossover

#endif  // CROSSOVER_CORE_FNV1A_H_
