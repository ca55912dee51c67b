// Copies past the caches (non-temporal stores): for bytes that this core does not read soon.
// FinishStreams makes them visible to others before any later store: to be called before a flag
// that tells of them. Thread-safe; no alignment needed, no overlap.
#ifndef CROSSOVER_CORE_STREAM_COPY_H_
#define CROSSOVER_CORE_STREAM_COPY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace crossover {

inline constexpr size_t kCacheLineBytes = 64;

inline void StreamCopy(std::byte* into, const std::byte* from, size_t bytes) {
#ifdef __SSE2__
  // Whole cache lines are streamed: a part of one would cost a read of it.
  const size_t misaligned = reinterpret_cast<uintptr_t>(into) % kCacheLineBytes;
  const size_t head = std::min(bytes, (kCacheLineBytes - misaligned) % kCacheLineBytes);
  std::memcpy(into, from, head);
  size_t at = head;
  for (; at + kCacheLineBytes <= bytes; at += kCacheLineBytes) {
    const auto* const source = reinterpret_cast<const __m128i*>(from + at);
    auto* const target = reinterpret_cast<__m128i*>(into + at);
    for (int k = 0; k < 4; ++k) _mm_stream_si128(target + k, _mm_loadu_si128(source + k));
  }
  std::memcpy(into + at, from + at, bytes - at);
#else
  std::memcpy(into, from, bytes);
#endif
}

inline void FinishStreams() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace crossover

#endif  // CROSSOVER_CORE_STREAM_COPY_H_
