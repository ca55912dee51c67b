#include "core/combine.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/check.h"
#include "core/half.h"
#include "core/stream_copy.h"
#include "core/vectorised.h"

namespace crossover {
namespace {

// Work goes in blocks, so that what is read or written twice is still in the first cache.
constexpr int64_t kBlockValues = 512;

template <typename T>
CROSSOVER_INLINE_LOOP T Load(const std::byte* from, int64_t i) {
  T value;
  std::memcpy(&value, from + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
CROSSOVER_INLINE_LOOP void Store(T value, std::byte* into, int64_t i) {
  std::memcpy(into + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

template <typename T>
CROSSOVER_INLINE_LOOP T Sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Wrapping = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
  } else {
    return a + b;
  }
}

// The lesser or greater. Equal floating-point values differ at most in the sign of a zero: `or`
// keeps it for the least, `and` drops it for the greatest.
template <typename T, bool kGreatest>
CROSSOVER_INLINE_LOOP T Extreme(T a, T b) {
  const T chosen = (kGreatest ? a > b : a < b) ? a : b;
  if constexpr (std::is_integral_v<T>) {
    return chosen;
  } else {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const auto x = std::bit_cast<Bits>(a);
    const auto y = std::bit_cast<Bits>(b);
    const Bits number = a == b ? (kGreatest ? x & y : x | y) : std::bit_cast<Bits>(chosen);
    const auto nan = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
    // Vectorises, which a call of isnan does not. NOLINTNEXTLINE(misc-redundant-expression)
    return std::bit_cast<T>(static_cast<Bits>((a != a) | (b != b) ? nan : number));
  }
}

// into[i] = a[i] op rest[i] op ..., in that order; `into` may be any of them.
template <typename T, T (*kOp)(T, T)>
struct Elementwise {
  template <typename... Rest>
  CROSSOVER_INLINE_LOOP static void Run(std::byte* into, int64_t count, const std::byte* a,
                                        Rest... rest) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      T value = Load<T>(a, i);
      ((value = kOp(value, Load<T>(rest, i))), ...);
      Store(value, into, i);
    }
  }
};

// The same of kBuffers parts, into as many buffers in one pass: no value is read or written twice.
template <typename T, T (*kOp)(T, T), int kBuffers, bool kMean = false>
struct IntoAll {
  CROSSOVER_INLINE_LOOP static void Run(std::byte* const* into_all, const std::byte* const* parts,
                                        int64_t count) {
    std::byte* into[kBuffers];
    const std::byte* part[kBuffers];
    std::copy_n(into_all, kBuffers, into);
    std::copy_n(parts, kBuffers, part);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      T value = Load<T>(part[0], i);
      for (int k = 1; k < kBuffers; ++k) value = kOp(value, Load<T>(part[k], i));
      if constexpr (kMean) value = static_cast<T>(value / T{kBuffers});
      for (int k = 0; k < kBuffers; ++k) Store(value, into[k], i);
    }
  }
};

template <typename T>
struct Divide {
  CROSSOVER_INLINE_LOOP static void Run(std::byte* values, T divisor, int64_t count) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      Store(static_cast<T>(Load<T>(values, i) / divisor), values, i);
    }
  }
};

// The same for the parts at once, of which there are two or more.
template <typename T, typename... Parts>
void Apply(ReduceOp op, std::byte* into, int64_t count, Parts... parts) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
      return RunVectorised<Elementwise<T, Sum<T>>>(into, count, parts...);
    case ReduceOp::kMin:
      return RunVectorised<Elementwise<T, Extreme<T, false>>>(into, count, parts...);
    case ReduceOp::kMax:
      return RunVectorised<Elementwise<T, Extreme<T, true>>>(into, count, parts...);
  }
}

template <typename T, int kBuffers>
void ApplyIntoAll(ReduceOp op, std::byte* const* into, const std::byte* const* parts,
                  int64_t count) {
  switch (op) {
    case ReduceOp::kSum:
      return RunVectorised<IntoAll<T, Sum<T>, kBuffers>>(into, parts, count);
    case ReduceOp::kAverage:
      return RunVectorised<IntoAll<T, Sum<T>, kBuffers, true>>(into, parts, count);
    case ReduceOp::kMin:
      return RunVectorised<IntoAll<T, Extreme<T, false>, kBuffers>>(into, parts, count);
    case ReduceOp::kMax:
      return RunVectorised<IntoAll<T, Extreme<T, true>, kBuffers>>(into, parts, count);
  }
}

template <typename T>
void DivideAll(std::byte* values, int64_t count, int divisor) {
  if (divisor > 1) RunVectorised<Divide<T>>(values, static_cast<T>(divisor), count);
}

// Values that are computed as they lie in memory.
template <typename T>
struct Native {
  static constexpr int64_t kBytes = sizeof(T);

  static void Combine(ReduceOp op, std::byte* into, const std::byte* from, int64_t count) {
    Apply<T>(op, into, count, from, into);
  }

  // One block, which begins `offset` bytes into every part.
  static void CombineBlock(ReduceOp op, std::byte* into, std::span<const std::byte* const> parts,
                           int64_t offset, int64_t count) {
    alignas(64) std::byte partial[kBlockValues * kBytes];
    const std::byte* so_far = parts[0] + offset;
    for (size_t k = 1; k < parts.size();) {
      // Up to three more in one pass.
      const size_t more = std::min<size_t>(3, parts.size() - k);
      std::byte* const to = k + more == parts.size() ? into : partial;
      const auto part = [&](size_t i) { return parts[k + i] + offset; };
      if (more == 1) Apply<T>(op, to, count, so_far, part(0));
      if (more == 2) Apply<T>(op, to, count, so_far, part(0), part(1));
      if (more == 3) Apply<T>(op, to, count, so_far, part(0), part(1), part(2));
      so_far = to;
      k += more;
    }
    if (so_far != into) std::memcpy(into, so_far, count * kBytes);
    if (op == ReduceOp::kAverage) DivideAll<T>(into, count, static_cast<int>(parts.size()));
  }

  // False if there is no loop for as many buffers.
  static bool CombineIntoAll(ReduceOp op, std::span<std::byte* const> into,
                             std::span<const std::byte* const> parts, int64_t count) {
    if (into.size() != parts.size() || parts.size() < 2 || parts.size() > 4) return false;
    if (parts.size() == 2) ApplyIntoAll<T, 2>(op, into.data(), parts.data(), count);
    if (parts.size() == 3) ApplyIntoAll<T, 3>(op, into.data(), parts.data(), count);
    if (parts.size() == 4) ApplyIntoAll<T, 4>(op, into.data(), parts.data(), count);
    return true;
  }

  static void Finish(std::byte* values, int64_t count, int contributions) {
    DivideAll<T>(values, count, contributions);
  }
};

// Halves: widened, computed in fp32, narrowed once.
template <void (*kWiden)(const std::byte*, float*, int64_t),
          void (*kNarrow)(const float*, std::byte*, int64_t)>
struct Half {
  static constexpr int64_t kBytes = 2;

  static void Combine(ReduceOp op, std::byte* into, const std::byte* from, int64_t count) {
    const std::byte* const parts[] = {from, into};
    const ReduceOp whole = op == ReduceOp::kAverage ? ReduceOp::kSum : op;
    for (int64_t start = 0; start < count; start += kBlockValues) {
      const int64_t offset = start * kBytes;
      CombineBlock(whole, into + offset, parts, offset, std::min(kBlockValues, count - start));
    }
  }

  static void CombineBlock(ReduceOp op, std::byte* into, std::span<const std::byte* const> parts,
                           int64_t offset, int64_t count) {
    alignas(64) float result[kBlockValues];
    alignas(64) float part[kBlockValues];
    auto* const result_bytes = reinterpret_cast<std::byte*>(result);
    kWiden(parts[0] + offset, result, count);
    for (size_t k = 1; k < parts.size(); ++k) {
      kWiden(parts[k] + offset, part, count);
      Apply<float>(op, result_bytes, count, result_bytes, reinterpret_cast<std::byte*>(part));
    }
    if (op == ReduceOp::kAverage) {
      DivideAll<float>(result_bytes, count, static_cast<int>(parts.size()));
    }
    kNarrow(result, into, count);
  }

  static bool CombineIntoAll(ReduceOp, std::span<std::byte* const>,
                             std::span<const std::byte* const>, int64_t) {
    return false;
  }

  static void Finish(std::byte* values, int64_t count, int contributions) {
    alignas(64) float wide[kBlockValues];
    for (int64_t start = 0; start < count; start += kBlockValues) {
      const int64_t length = std::min(kBlockValues, count - start);
      kWiden(values + start * kBytes, wide, length);
      DivideAll<float>(reinterpret_cast<std::byte*>(wide), length, contributions);
      kNarrow(wide, values + start * kBytes, length);
    }
  }
};

// Calls work(Arithmetic()) with the one of `type`.
template <typename Work>
void WithArithmeticOf(DataType type, Work work) {
  switch (type) {
    case DataType::kFloat32:
      return work(Native<float>());
    case DataType::kFloat16:
      return work(Half<Float16sToFloats, FloatsToFloat16s>());
    case DataType::kBfloat16:
      return work(Half<Bfloat16sToFloats, FloatsToBfloat16s>());
    case DataType::kFloat64:
      return work(Native<double>());
    case DataType::kInt32:
      return work(Native<int32_t>());
    case DataType::kInt64:
      return work(Native<int64_t>());
  }
  CROSSOVER_CHECK(false, "the type is one of the enumerators");
}

}  // namespace

void Combine(DataType type, ReduceOp op, std::byte* into, const std::byte* from, int64_t count) {
  WithArithmeticOf(type, [&](auto arithmetic) { arithmetic.Combine(op, into, from, count); });
}

void CombineInOrder(DataType type, ReduceOp op, std::byte* into,
                    std::span<const std::byte* const> parts, int64_t count) {
  CROSSOVER_CHECK(!parts.empty(), "something is combined");
  WithArithmeticOf(type, [&](auto arithmetic) {
    for (int64_t start = 0; start < count; start += kBlockValues) {
      const int64_t offset = start * arithmetic.kBytes;
      arithmetic.CombineBlock(op, into + offset, parts, offset,
                              std::min(kBlockValues, count - start));
    }
  });
}

void CombineInOrderIntoAll(DataType type, ReduceOp op, std::span<std::byte* const> into,
                           std::span<const std::byte* const> parts, int64_t count, Stores stores) {
  CROSSOVER_CHECK(!parts.empty() && !into.empty(), "something is combined, to somewhere");
  WithArithmeticOf(type, [&](auto arithmetic) {
    if (stores == Stores::kCached && arithmetic.CombineIntoAll(op, into, parts, count)) return;
    alignas(64) std::byte streamed[kBlockValues * arithmetic.kBytes];
    // The first block ends where the first buffer's cache lines do, so that the others hold whole
    // ones.
    int64_t length = kBlockValues - static_cast<int64_t>(reinterpret_cast<uintptr_t>(into[0]) %
                                                         kCacheLineBytes / arithmetic.kBytes);
    for (int64_t start = 0; start < count; start += length, length = kBlockValues) {
      length = std::min(length, count - start);
      const int64_t offset = start * arithmetic.kBytes;
      const auto bytes = static_cast<size_t>(length * arithmetic.kBytes);
      std::byte* const result = stores == Stores::kStream ? streamed : into[0] + offset;
      arithmetic.CombineBlock(op, result, parts, offset, length);
      for (std::byte* const buffer : into) {
        if (stores == Stores::kStream) {
          StreamCopy(buffer + offset, result, bytes);
        } else if (buffer + offset != result) {
          std::memcpy(buffer + offset, result, bytes);
        }
      }
    }
  });
  if (stores == Stores::kStream) FinishStreams();
}

void FinishAverage(DataType type, std::byte* values, int64_t count, int contributions) {
  CROSSOVER_CHECK(contributions > 0, "a mean is of at least one contribution");
  if (contributions == 1) return;
  WithArithmeticOf(type, [&](auto arithmetic) { arithmetic.Finish(values, count, contributions); });
}

}  // namespace crossover
