#include "core/reduce.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using ::testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> Random(size_t size, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(size);
  for (float& value : values) {
    value = static_cast<float>(static_cast<int32_t>(generator())) * 1e-9f;
  }
  return values;
}

// Lengths around the widths at which vector code changes its path.
const size_t kSizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100, 4095, 4096, 4097};

TEST(ReduceTest, AddIntoAddsElementByElement) {
  for (const size_t size : kSizes) {
    std::vector<float> into = Random(size, 1);
    const std::vector<float> before = into;
    const std::vector<float> from = Random(size, 2);
    AddInto(into, from);
    for (size_t i = 0; i < size; ++i) {
      const float expected = before[i] + from[i];
      EXPECT_EQ(into[i], expected) << i << " of " << size;
    }
  }
}

TEST(ReduceTest, AddIntoABufferItself) {
  std::vector<float> values = {1, -2, 3, 4, 5};
  AddInto(values, values);
  EXPECT_THAT(values, ElementsAre(2, -4, 6, 8, 10));
}

TEST(ReduceTest, AddBytesIntoEqualsAddIntoAtAnyAlignment) {
  for (const size_t size : kSizes) {
    const std::vector<float> from = Random(size, 3);
    std::vector<float> expected = Random(size, 4);
    AddInto(expected, from);
    for (const size_t shift : {0, 1, 2, 3, 5}) {
      std::vector<std::byte> bytes(size * sizeof(float) + shift);
      if (size > 0) std::memcpy(bytes.data() + shift, from.data(), size * sizeof(float));
      std::vector<float> into = Random(size, 4);
      AddBytesInto(into, std::span(bytes).subspan(shift));
      EXPECT_EQ(into, expected) << size << " values, shifted by " << shift;
    }
  }
}

TEST(ReduceTest, CuttingABufferChangesNoBit) {
  const std::vector<float> from = Random(1000, 5);
  std::vector<float> whole = Random(1000, 6);
  std::vector<float> cut = whole;
  AddInto(whole, from);
  DivideBy(whole, 3);
  for (size_t start = 0, length = 1; start < cut.size(); start += length, length += 6) {
    length = std::min(length, cut.size() - start);
    AddInto(std::span(cut).subspan(start, length), std::span(from).subspan(start, length));
    DivideBy(std::span(cut).subspan(start, length), 3);
  }
  EXPECT_EQ(Fingerprint(cut), Fingerprint(whole));
}

TEST(ReduceTest, DivideByIsCorrectlyRounded) {
  std::vector<float> values = {3, -1.5f, 0, 7, 1e-3f};
  DivideBy(values, 3);
  EXPECT_THAT(values, ElementsAre(1, -0.5f, 0, 7.0f / 3, 1e-3f / 3));
  DivideBy(std::span<float>(), 2);
}

// The mean of equal values is the value, however often it is taken: a product with the
// rounded third would drift.
TEST(ReduceTest, RepeatedMeansOfEqualValuesDoNotDrift) {
  const std::vector<float> first = Random(1000, 9);
  std::vector<float> values = first;
  for (int round = 0; round < 50; ++round) {
    const std::vector<float> mine = values;
    AddInto(values, mine);
    AddInto(values, mine);
    DivideBy(values, 3);
  }
  EXPECT_LT(RelativeDifference(values, first), 5e-7);
}

TEST(ReduceDeathTest, LengthsMustAgree) {
  std::vector<float> three(3);
  const std::vector<float> two(2);
  EXPECT_DEATH(AddInto(three, two), "have one length");
  EXPECT_DEATH(AddBytesInto(three, std::as_bytes(std::span(two))), "four bytes for each value");
  EXPECT_DEATH(RelativeDifference(three, two), "have one length");
}

TEST(ReduceTest, SumOfSquaresAddsBlocksOf4096InOrder) {
  const std::vector<float> values = Random(3 * 4096 + 17, 7);
  double expected = 0;
  for (size_t block = 0; block < 4; ++block) {
    double block_sum = 0;
    for (size_t i = block * 4096; i < std::min((block + 1) * 4096, values.size()); ++i) {
      block_sum += static_cast<double>(values[i]) * values[i];
    }
    expected += block_sum;
  }
  EXPECT_EQ(SumOfSquares(values), expected);
  EXPECT_EQ(SumOfSquares({}), 0);
  EXPECT_EQ(SumOfSquares(std::vector<float>{3, 4}), 25);
  // 1e30 squared does not fit a float.
  EXPECT_DOUBLE_EQ(SumOfSquares(std::vector<float>{1e30f}), static_cast<double>(1e30f) * 1e30f);
}

TEST(ReduceTest, RelativeDifferenceIsThatOfNorms) {
  const std::vector<float> zero = {0, 0};
  const std::vector<float> a = {3, 5};
  const std::vector<float> b = {3, 4};
  EXPECT_DOUBLE_EQ(RelativeDifference(a, b), 0.2);
  EXPECT_EQ(RelativeDifference(a, a), 0);
  EXPECT_EQ(RelativeDifference(zero, zero), 0);
  EXPECT_EQ(RelativeDifference(zero, a), 1);
  EXPECT_EQ(RelativeDifference(a, zero), std::numeric_limits<double>::infinity());
  EXPECT_EQ(RelativeDifference({}, {}), 0);
  EXPECT_TRUE(std::isnan(RelativeDifference(std::vector<float>{kNan, 1}, b)));
}

TEST(ReduceTest, FingerprintIsFnv1aOverTheBytes) {
  // FNV-1a's published values for "" and "foob".
  EXPECT_EQ(Fingerprint({}), 0xcbf29ce484222325u);
  float foob;
  std::memcpy(&foob, "foob", sizeof(foob));
  EXPECT_EQ(Fingerprint(std::vector<float>{foob}), 0xdd120e790c2512afu);
}

TEST(ReduceTest, FingerprintTellsSingleBitsApart) {
  const std::vector<float> values = Random(9, 8);
  for (size_t i = 0; i < values.size(); ++i) {
    for (int bit = 0; bit < 32; ++bit) {
      std::vector<float> other = values;
      other[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(other[i]) ^ (1u << bit));
      EXPECT_NE(Fingerprint(other), Fingerprint(values));
    }
  }
  EXPECT_NE(Fingerprint(std::vector<float>{0.0f}), Fingerprint(std::vector<float>{-0.0f}));
}

}  // namespace
}  // namespace crossover
