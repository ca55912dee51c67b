#include "core/half.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace crossover {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// What a half's bits mean, from the definition.
float Meaning(uint32_t bits, int exponent_bits, int fraction_bits) {
  const double sign = (bits >> (exponent_bits + fraction_bits)) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = std::ldexp(bits & ((1u << fraction_bits) - 1), -fraction_bits);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction == 0 ? static_cast<float>(sign) * kInfinity : std::nanf("");
  }
  if (exponent == 0) return static_cast<float>(sign * std::ldexp(fraction, 1 - bias));
  return static_cast<float>(sign * std::ldexp(1 + fraction, exponent - bias));
}

TEST(HalfTest, EveryFloat16WidensToItsMeaningAndComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = Float16ToFloat(static_cast<uint16_t>(bits));
    const float expected = Meaning(bits, 5, 10);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_EQ(FloatToFloat16(value), bits | 0x200);
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(expected)) << bits;
      ASSERT_EQ(FloatToFloat16(value), bits);
    }
  }
}

TEST(HalfTest, EveryBfloat16WidensToItsMeaningAndComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = Bfloat16ToFloat(static_cast<uint16_t>(bits));
    const float expected = Meaning(bits, 8, 7);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_EQ(FloatToBfloat16(value), bits | 0x40);
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(expected)) << bits;
      ASSERT_EQ(FloatToBfloat16(value), bits);
    }
  }
}

// Between each two neighbours lies a middle, which goes to the even one; a little beside it, to
// the nearer. The largest's upper neighbour would be 2^16 or 2^128, which is infinity.
void ExpectNearestEven(uint16_t (*narrow)(float), float (*widen)(uint16_t), uint16_t largest,
                       double beyond) {
  for (uint32_t bits = 0; bits <= largest; ++bits) {
    const double low = widen(static_cast<uint16_t>(bits));
    const double high = bits == largest ? beyond : widen(static_cast<uint16_t>(bits + 1));
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(middle, (low + high) / 2);
    ASSERT_EQ(narrow(middle), bits + bits % 2) << bits;
    ASSERT_EQ(narrow(std::nextafter(middle, 0.0f)), bits) << bits;
    ASSERT_EQ(narrow(std::nextafter(middle, kInfinity)), bits + 1) << bits;
    ASSERT_EQ(narrow(-middle), (bits + bits % 2) | 0x8000) << bits;
  }
}

TEST(HalfTest, NarrowingRoundsToNearestEven) {
  ExpectNearestEven(FloatToFloat16, Float16ToFloat, 0x7bff, 0x1p16);
  ExpectNearestEven(FloatToBfloat16, Bfloat16ToFloat, 0x7f7f, 0x1p128);
}

TEST(HalfTest, WhatDoesNotFitIsInfinite) {
  EXPECT_EQ(FloatToFloat16(1e6f), 0x7c00);
  EXPECT_EQ(FloatToFloat16(-std::numeric_limits<float>::max()), 0xfc00);
  EXPECT_EQ(FloatToFloat16(kInfinity), 0x7c00);
  EXPECT_EQ(FloatToFloat16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(FloatToFloat16(-0.0f), 0x8000);
  EXPECT_EQ(FloatToBfloat16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(HalfTest, ANanStaysOneWithItsSignAndLeadingBits) {
  // A NaN whose leading bits are zero must not become infinity.
  EXPECT_EQ(FloatToFloat16(std::bit_cast<float>(0x7f800001u)), 0x7e00);
  EXPECT_EQ(FloatToFloat16(std::bit_cast<float>(0xffa00001u)), 0xff00);
  EXPECT_EQ(FloatToBfloat16(std::bit_cast<float>(0x7f800001u)), 0x7fc0);
  EXPECT_EQ(FloatToBfloat16(std::bit_cast<float>(0xffffffffu)), 0xffff);
}

// The processor's instructions do the arrays, our own code their ends and single values.
TEST(HalfTest, ArraysHaveTheBitsOfSingleValues) {
  std::vector<float> values;
  for (uint64_t bits = 0; bits <= 0xffffffff; bits += 4099) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  const auto count = static_cast<int64_t>(values.size());
  std::vector<std::byte> halves(2 * values.size() + 1);  // off by one: no alignment
  std::vector<float> back(values.size());
  auto half = [&](int64_t i) {
    uint16_t bits;
    std::memcpy(&bits, halves.data() + 1 + 2 * i, sizeof(bits));
    return bits;
  };
  FloatsToFloat16s(values.data(), halves.data() + 1, count);
  Float16sToFloats(halves.data() + 1, back.data(), count);
  for (int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(half(i), FloatToFloat16(values[i])) << std::bit_cast<uint32_t>(values[i]);
    ASSERT_EQ(std::bit_cast<uint32_t>(back[i]), std::bit_cast<uint32_t>(Float16ToFloat(half(i))));
  }
  FloatsToBfloat16s(values.data(), halves.data() + 1, count);
  Bfloat16sToFloats(halves.data() + 1, back.data(), count);
  for (int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(half(i), FloatToBfloat16(values[i])) << std::bit_cast<uint32_t>(values[i]);
    ASSERT_EQ(std::bit_cast<uint32_t>(back[i]), std::bit_cast<uint32_t>(Bfloat16ToFloat(half(i))));
  }
}

TEST(HalfTest, SignalingNansOfHalvesWidenAlike) {
  std::vector<uint16_t> halves;
  for (uint32_t bits = 0x7c01; bits < 0x8000; ++bits) halves.push_back(static_cast<uint16_t>(bits));
  std::vector<float> wide(halves.size());
  Float16sToFloats(reinterpret_cast<const std::byte*>(halves.data()), wide.data(),
                   static_cast<int64_t>(halves.size()));
  for (size_t i = 0; i < halves.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), std::bit_cast<uint32_t>(Float16ToFloat(halves[i])));
  }
}

}  // namespace
}  // namespace crossover
