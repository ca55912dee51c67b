#include "core/combine.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/half.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using Bytes = std::vector<std::byte>;

constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat16, DataType::kBfloat16,
                               DataType::kFloat64, DataType::kInt32,   DataType::kInt64};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax};
// Around the widths at which vector code changes its path, and the block.
constexpr int64_t kCounts[] = {0,  1,  2,  3,  7,  8,   9,   15,  16,  17,  31,
                               32, 33, 63, 64, 65, 100, 511, 512, 513, 5000};

// Each type's arithmetic as one would write it down: `Wide` is what it is computed in.
struct Fp32 {
  using Stored = float;
  using Wide = float;
  static float Widen(float value) { return value; }
  static float Narrow(float value) { return value; }
};
struct Fp64 {
  using Stored = double;
  using Wide = double;
  static double Widen(double value) { return value; }
  static double Narrow(double value) { return value; }
};
struct Fp16 {
  using Stored = uint16_t;
  using Wide = float;
  static float Widen(uint16_t bits) { return Float16ToFloat(bits); }
  static uint16_t Narrow(float value) { return FloatToFloat16(value); }
};
struct Bf16 {
  using Stored = uint16_t;
  using Wide = float;
  static float Widen(uint16_t bits) { return Bfloat16ToFloat(bits); }
  static uint16_t Narrow(float value) { return FloatToBfloat16(value); }
};
struct Int32 {
  using Stored = int32_t;
  using Wide = int32_t;
  static int32_t Widen(int32_t value) { return value; }
  static int32_t Narrow(int32_t value) { return value; }
};
struct Int64 {
  using Stored = int64_t;
  using Wide = int64_t;
  static int64_t Widen(int64_t value) { return value; }
  static int64_t Narrow(int64_t value) { return value; }
};

template <typename Work>
void WithPlain(DataType type, Work work) {
  switch (type) {
    case DataType::kFloat32:
      return work(Fp32());
    case DataType::kFloat16:
      return work(Fp16());
    case DataType::kBfloat16:
      return work(Bf16());
    case DataType::kFloat64:
      return work(Fp64());
    case DataType::kInt32:
      return work(Int32());
    case DataType::kInt64:
      return work(Int64());
  }
}

template <typename T>
T PlainOp(ReduceOp op, T a, T b) {
  if (op == ReduceOp::kSum || op == ReduceOp::kAverage) {
    if constexpr (std::is_integral_v<T>) {
      T sum;
      static_cast<void>(__builtin_add_overflow(a, b, &sum));
      return sum;
    } else {
      return a + b;
    }
  }
  if (a != a || b != b) return std::numeric_limits<T>::quiet_NaN();
  if constexpr (std::is_floating_point_v<T>) {
    if (a == b) return (std::signbit(a) == (op == ReduceOp::kMin)) ? a : b;
  }
  return (op == ReduceOp::kMin) == (a < b) ? a : b;
}

// What CombineInOrder has to give, value by value.
Bytes PlainInOrder(DataType type, ReduceOp op, const std::vector<Bytes>& parts) {
  Bytes result(parts[0].size());
  WithPlain(type, [&](auto plain) {
    using Plain = decltype(plain);
    using Stored = typename Plain::Stored;
    for (size_t at = 0; at < result.size(); at += sizeof(Stored)) {
      auto value_of = [&](const Bytes& part) {
        Stored stored;
        std::memcpy(&stored, part.data() + at, sizeof(stored));
        return Plain::Widen(stored);
      };
      typename Plain::Wide value = value_of(parts[0]);
      for (size_t k = 1; k < parts.size(); ++k) value = PlainOp(op, value, value_of(parts[k]));
      if (op == ReduceOp::kAverage) value /= static_cast<typename Plain::Wide>(parts.size());
      const Stored narrow = Plain::Narrow(value);
      std::memcpy(result.data() + at, &narrow, sizeof(narrow));
    }
  });
  return result;
}

// Finite values of both signs and many magnitudes, zeros of both signs among them.
Bytes Random(DataType type, int64_t count, uint32_t seed) {
  std::mt19937_64 generator(seed);
  Bytes bytes(count * BytesOf(type));
  WithPlain(type, [&](auto plain) {
    using Plain = decltype(plain);
    using Stored = typename Plain::Stored;
    for (int64_t i = 0; i < count; ++i) {
      Stored stored;
      if constexpr (std::is_integral_v<typename Plain::Wide>) {
        stored = static_cast<Stored>(generator());  // sums wrap
      } else {
        const auto mantissa = static_cast<int32_t>(generator());
        const int exponent = static_cast<int>(generator() % 8) - 34;
        auto value = static_cast<typename Plain::Wide>(std::ldexp(mantissa, exponent));
        if (generator() % 5 == 0) value = generator() % 2 == 0 ? 0 : -0.0;
        stored = Plain::Narrow(value);
      }
      std::memcpy(bytes.data() + i * sizeof(Stored), &stored, sizeof(Stored));
    }
  });
  return bytes;
}

std::string Case(DataType type, ReduceOp op, int64_t count, size_t parts) {
  return std::string(NameOf(op)) + " of " + std::to_string(parts) + " times " +
         std::to_string(count) + " " + NameOf(type);
}

// A copy that begins `shift` bytes after an aligned address.
struct Shifted {
  Shifted(const Bytes& bytes, size_t shift) : room(bytes.size() + shift + 64) {
    const size_t misaligned = reinterpret_cast<uintptr_t>(room.data()) % 64;
    data = room.data() + (64 - misaligned) % 64 + shift % 64;
    if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
    size = bytes.size();
  }
  Shifted(const Shifted&) = delete;
  Bytes Value() const { return Bytes(data, data + size); }
  Bytes room;
  std::byte* data;
  size_t size;
};

template <typename Check>
void ForEachCase(Check check) {
  for (const DataType type : kTypes) {
    for (const ReduceOp op : kOps) {
      for (const int64_t count : kCounts) check(type, op, count);
    }
  }
}

TEST(CombineTest, EqualsAPlainLoopAtAnyAlignment) {
  ForEachCase([](DataType type, ReduceOp op, int64_t count) {
    const ReduceOp whole = op == ReduceOp::kAverage ? ReduceOp::kSum : op;
    const Bytes a = Random(type, count, 1);
    const Bytes b = Random(type, count, 2);
    const Bytes expected = PlainInOrder(type, whole, {a, b});
    for (const size_t shift : {0, 1, 2, 7}) {
      const Shifted from(a, shift);
      const Shifted into(b, 3 * shift);
      Combine(type, op, into.data, from.data, count);
      ASSERT_EQ(into.Value(), expected) << Case(type, op, count, 2) << ", shifted by " << shift;
      ASSERT_EQ(from.Value(), a);
    }
  });
}

TEST(CombineTest, ABufferWithItself) {
  ForEachCase([](DataType type, ReduceOp op, int64_t count) {
    const ReduceOp whole = op == ReduceOp::kAverage ? ReduceOp::kSum : op;
    Bytes values = Random(type, count, 1);
    const Bytes expected = PlainInOrder(type, whole, {values, values});
    Combine(type, op, values.data(), values.data(), count);
    ASSERT_EQ(values, expected) << Case(type, op, count, 2);
  });
}

TEST(CombineTest, InOrderEqualsAPlainLoop) {
  ForEachCase([](DataType type, ReduceOp op, int64_t count) {
    for (const size_t parts : {1, 2, 3, 4, 8, 11}) {
      std::vector<Bytes> values;
      for (size_t k = 0; k < parts; ++k) values.push_back(Random(type, count, 10 + k));
      const Bytes expected = PlainInOrder(type, op, values);
      for (const size_t shift : {0, 1}) {
        std::deque<Shifted> copies;
        std::vector<const std::byte*> pointers;
        for (const Bytes& value : values) {
          pointers.push_back(copies.emplace_back(value, shift * copies.size()).data);
        }
        const Shifted into(Bytes(expected.size()), shift);
        CombineInOrder(type, op, into.data, pointers, count);
        ASSERT_EQ(into.Value(), expected) << Case(type, op, count, parts);
        // Into each of the parts.
        const size_t last = count % parts;
        CombineInOrder(type, op, copies[last].data, pointers, count);
        ASSERT_EQ(copies[last].Value(), expected) << Case(type, op, count, parts);
      }
    }
  });
}

// Into all parts but the first, and a buffer that is none.
void ExpectIntoAll(DataType type, ReduceOp op, int64_t count, size_t ranks, size_t shift,
                   Stores stores) {
  std::vector<Bytes> values;
  for (uint32_t k = 0; k < ranks; ++k) values.push_back(Random(type, count, 20 + k));
  const Bytes expected = PlainInOrder(type, op, values);
  std::deque<Shifted> copies;
  std::vector<const std::byte*> parts;
  std::vector<std::byte*> into;
  for (const Bytes& value : values) {
    std::byte* const data = copies.emplace_back(value, shift * (1 + copies.size())).data;
    parts.push_back(data);
    if (copies.size() > 1) into.push_back(data);
  }
  const Shifted other(values[0], shift);
  into.insert(into.begin() + 1, other.data);
  CombineInOrderIntoAll(type, op, into, parts, count, stores);
  ASSERT_EQ(copies[0].Value(), values[0]);
  ASSERT_EQ(other.Value(), expected) << Case(type, op, count, ranks) << " at " << shift;
  for (size_t k = 1; k < ranks; ++k) {
    ASSERT_EQ(copies[k].Value(), expected) << Case(type, op, count, ranks) << " at " << shift;
  }
  // Into two only.
  std::deque<Shifted> results;
  std::byte* const two[] = {results.emplace_back(values[0], shift).data,
                            results.emplace_back(values[0], 3).data};
  const Bytes again = PlainInOrder(type, op, std::vector<Bytes>(ranks, values[0]));
  std::vector<const std::byte*> same(ranks, copies[0].data);
  CombineInOrderIntoAll(type, op, two, same, count, stores);
  ASSERT_EQ(results[0].Value(), again) << Case(type, op, count, ranks) << " at " << shift;
  ASSERT_EQ(results[1].Value(), again) << Case(type, op, count, ranks) << " at " << shift;
}

TEST(CombineTest, IntoAllEqualsAPlainLoopWhereverTheBuffersLie) {
  ForEachCase([](DataType type, ReduceOp op, int64_t count) {
    for (const size_t ranks : {2, 3, 4, 5}) {
      const size_t shift = (count + ranks) % 14;
      ExpectIntoAll(type, op, count, ranks, shift, Stores::kCached);
      ExpectIntoAll(type, op, count, ranks, shift, Stores::kStream);
    }
  });
}

TEST(CombineTest, FinishAverageAfterASumIsTheMean) {
  for (const DataType type : kTypes) {
    for (const int64_t count : kCounts) {
      for (const int contributions : {1, 2, 3, 7}) {
        const Bytes before = Random(type, count, 3);
        Bytes values = before;
        FinishAverage(type, values.data(), count, contributions);
        Bytes expected = before;
        WithPlain(type, [&](auto plain) {
          using Stored = typename decltype(plain)::Stored;
          for (int64_t i = 0; i < count; ++i) {
            Stored stored;
            std::memcpy(&stored, before.data() + i * sizeof(stored), sizeof(stored));
            const auto wide = plain.Widen(stored);
            stored = plain.Narrow(wide / static_cast<decltype(plain.Widen(stored))>(contributions));
            std::memcpy(expected.data() + i * sizeof(stored), &stored, sizeof(stored));
          }
        });
        ASSERT_EQ(values, expected) << NameOf(type) << " " << count << " by " << contributions;
      }
    }
  }
}

template <typename T>
std::vector<const std::byte*> Parts(const std::vector<T>& values) {
  std::vector<const std::byte*> parts;
  for (const T& value : values) parts.push_back(reinterpret_cast<const std::byte*>(&value));
  return parts;
}

template <typename T>
T InOrder(DataType type, ReduceOp op, const std::vector<T>& values) {
  T result{};
  CombineInOrder(type, op, reinterpret_cast<std::byte*>(&result), Parts(values), 1);
  return result;
}

// 2048 + 1 is a tie in fp16 and goes back to 2048; rounded once, 2048 + 1 + 1 is 2050.
TEST(CombineTest, InOrderRoundsHalvesOnce) {
  const std::vector<uint16_t> fp16 = {FloatToFloat16(2048), FloatToFloat16(1), FloatToFloat16(1)};
  EXPECT_EQ(Float16ToFloat(InOrder(DataType::kFloat16, ReduceOp::kSum, fp16)), 2050);
  const std::vector<uint16_t> bf16 = {FloatToBfloat16(256), FloatToBfloat16(1), FloatToBfloat16(1)};
  EXPECT_EQ(Bfloat16ToFloat(InOrder(DataType::kBfloat16, ReduceOp::kSum, bf16)), 258);
  // A sum beyond the largest half whose mean fits.
  const std::vector<uint16_t> large(4, FloatToFloat16(60000));
  EXPECT_EQ(InOrder(DataType::kFloat16, ReduceOp::kAverage, large), large[0]);
  uint16_t by_steps = fp16[0];
  auto* const into = reinterpret_cast<std::byte*>(&by_steps);
  const auto* const one = reinterpret_cast<const std::byte*>(&fp16[1]);
  Combine(DataType::kFloat16, ReduceOp::kSum, into, one, 1);
  Combine(DataType::kFloat16, ReduceOp::kSum, into, one, 1);
  EXPECT_EQ(Float16ToFloat(by_steps), 2048);
}

TEST(CombineTest, InOrderIsInOrder) {
  EXPECT_EQ(InOrder<float>(DataType::kFloat32, ReduceOp::kSum, {1e8f, -1e8f, 1}), 1);
  EXPECT_EQ(InOrder<float>(DataType::kFloat32, ReduceOp::kSum, {1, 1e8f, -1e8f}), 0);
}

TEST(CombineTest, IntegersWrapAndTruncate) {
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(InOrder<int32_t>(DataType::kInt32, ReduceOp::kSum, {kMax, 1}), kMin);
  EXPECT_EQ(InOrder<int32_t>(DataType::kInt32, ReduceOp::kAverage, {-3, -4}), -3);
  EXPECT_EQ(InOrder<int64_t>(DataType::kInt64, ReduceOp::kAverage, {7, 0}), 3);
  EXPECT_EQ(InOrder<int32_t>(DataType::kInt32, ReduceOp::kMin, {kMax, kMin, 0}), kMin);
}

template <typename T>
void ExpectExtremesOfSpecialValues(DataType type) {
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
    for (const std::vector<T>& values :
         {std::vector<T>{kNan, 1}, {1, -kNan}, {-kInfinity, kNan, kInfinity}}) {
      EXPECT_TRUE(std::isnan(InOrder<T>(type, op, values)));
    }
    // The sign of zero does not depend on the order.
    const bool negative = op == ReduceOp::kMin;
    EXPECT_EQ(std::signbit(InOrder<T>(type, op, {T{0}, -T{0}})), negative);
    EXPECT_EQ(std::signbit(InOrder<T>(type, op, {-T{0}, T{0}})), negative);
  }
  EXPECT_EQ(InOrder<T>(type, ReduceOp::kMin, {kInfinity, -kInfinity}), -kInfinity);
  EXPECT_EQ(InOrder<T>(type, ReduceOp::kMax, {T{-1}, -kInfinity}), T{-1});
}

TEST(CombineTest, MinAndMaxOfSpecialValues) {
  ExpectExtremesOfSpecialValues<float>(DataType::kFloat32);
  ExpectExtremesOfSpecialValues<double>(DataType::kFloat64);
  const uint16_t nan = FloatToFloat16(std::nanf(""));
  EXPECT_EQ(InOrder<uint16_t>(DataType::kFloat16, ReduceOp::kMin, {nan, 0}), nan);
  const uint16_t bnan = FloatToBfloat16(std::nanf(""));
  EXPECT_EQ(InOrder<uint16_t>(DataType::kBfloat16, ReduceOp::kMax, {0, bnan}), bnan);
}

TEST(CombineTest, SumsOfSpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> opposite = {kInfinity, -kInfinity};
  EXPECT_TRUE(std::isnan(InOrder(DataType::kFloat32, ReduceOp::kSum, opposite)));
  const std::vector<uint16_t> halves = {0x7c00, 0xfc00};
  EXPECT_TRUE(std::isnan(Float16ToFloat(InOrder(DataType::kFloat16, ReduceOp::kSum, halves))));
  const std::vector<uint16_t> largest(2, 0x7bff);
  EXPECT_EQ(InOrder(DataType::kFloat16, ReduceOp::kSum, largest), 0x7c00);
}

TEST(CombineDeathTest, SomethingIsCombined) {
  float value = 1;
  auto* const bytes = reinterpret_cast<std::byte*>(&value);
  EXPECT_DEATH(CombineInOrder(DataType::kFloat32, ReduceOp::kSum, bytes, {}, 1), "is combined");
  EXPECT_DEATH(FinishAverage(DataType::kFloat32, bytes, 1, 0), "at least one contribution");
}

}  // namespace
}  // namespace crossover
