#include "core/half.h"

#include <bit>
#include <cstring>

#include "core/vectorised.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace crossover {
namespace {

constexpr uint32_t kSign = 0x80000000;
constexpr uint32_t kInfinity = 0x7f800000;

CROSSOVER_INLINE_LOOP float WidenBfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

CROSSOVER_INLINE_LOOP uint16_t NarrowToBfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  const uint32_t quiet = bits | 0x400000;
  return static_cast<uint16_t>(((bits & ~kSign) > kInfinity ? quiet : rounded) >> 16);
}

struct WidenBfloat16s {
  CROSSOVER_INLINE_LOOP static void Run(const std::byte* from, float* into, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      uint16_t bits;
      std::memcpy(&bits, from + 2 * i, sizeof(bits));
      into[i] = WidenBfloat16(bits);
    }
  }
};

struct NarrowToBfloat16s {
  CROSSOVER_INLINE_LOOP static void Run(const float* from, std::byte* into, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const uint16_t bits = NarrowToBfloat16(from[i]);
      std::memcpy(into + 2 * i, &bits, sizeof(bits));
    }
  }
};

#ifdef __x86_64__
// __builtin_cpu_supports knows no "f16c" before clang 15.
bool HasFloat16Instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return CROSSOVER_VECTOR_BITS_MAX >= 256 && __builtin_cpu_supports("avx") &&
         __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

// Both give back how many values they have done: all but fewer than 8.
[[gnu::target("avx,f16c")]] int64_t WidenEights(const std::byte* from, float* into, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * i));
    _mm256_storeu_ps(into + i, _mm256_cvtph_ps(halves));
  }
  return i;
}

[[gnu::target("avx,f16c")]] int64_t NarrowEights(const float* from, std::byte* into,
                                                 int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(into + 2 * i), halves);
  }
  return i;
}
#else
bool HasFloat16Instructions() { return false; }
int64_t WidenEights(const std::byte*, float*, int64_t) { return 0; }
int64_t NarrowEights(const float*, std::byte*, int64_t) { return 0; }
#endif

}  // namespace

float Float16ToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t magnitude = bits & 0x7fff;
  if (magnitude > 0x7c00) return std::bit_cast<float>(sign | 0x7fc00000 | (magnitude << 13));
  if (magnitude == 0x7c00) return std::bit_cast<float>(sign | kInfinity);
  if (magnitude >= 0x400) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
  // Below 2^-14 a half counts in units of 2^-24.
  const float value = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

uint16_t FloatToFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits & kSign) >> 16;
  uint32_t magnitude = bits & ~kSign;
  if (magnitude > kInfinity) {
    magnitude = 0x7e00 | ((magnitude >> 13) & 0x3ff);
  } else if (magnitude >= std::bit_cast<uint32_t>(0x1p16f)) {
    magnitude = 0x7c00;
  } else if (magnitude < std::bit_cast<uint32_t>(0x1p-14f)) {
    // The sum with 0.5, whose last place is 2^-24, is what rounds.
    magnitude = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
                std::bit_cast<uint32_t>(0.5f);
  } else {
    magnitude = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  }
  return static_cast<uint16_t>(sign | magnitude);
}

void Float16sToFloats(const std::byte* from, float* into, int64_t count) {
  int64_t i = HasFloat16Instructions() ? WidenEights(from, into, count) : 0;
  for (; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, from + 2 * i, sizeof(bits));
    into[i] = Float16ToFloat(bits);
  }
}

void FloatsToFloat16s(const float* from, std::byte* into, int64_t count) {
  int64_t i = HasFloat16Instructions() ? NarrowEights(from, into, count) : 0;
  for (; i < count; ++i) {
    const uint16_t bits = FloatToFloat16(from[i]);
    std::memcpy(into + 2 * i, &bits, sizeof(bits));
  }
}

float Bfloat16ToFloat(uint16_t bits) { return WidenBfloat16(bits); }

uint16_t FloatToBfloat16(float value) { return NarrowToBfloat16(value); }

void Bfloat16sToFloats(const std::byte* from, float* into, int64_t count) {
  RunVectorised<WidenBfloat16s>(from, into, count);
}

void FloatsToBfloat16s(const float* from, std::byte* into, int64_t count) {
  RunVectorised<NarrowToBfloat16s>(from, into, count);
}

}  // namespace crossover
