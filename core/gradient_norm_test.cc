#include "core/gradient_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace crossover {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

SquareSum SumOf(const std::vector<float>& values) {
  SquareSum sum;
  sum.Add(values);
  return sum;
}

double NormOf(const std::vector<float>& values) { return SumOf(values).Norm(); }

TEST(SquareSum, HasTheNormsThatOneKnows) {
  EXPECT_EQ(NormOf({}), 0);
  EXPECT_EQ(NormOf({0, -0.f}), 0);
  EXPECT_EQ(NormOf({3, -4}), 5);
  EXPECT_EQ(NormOf({0.25f}), 0.25);
  EXPECT_EQ(NormOf(std::vector<float>(1 << 18, -0.5f)), 256);  // more than one block
}

TEST(SquareSum, ReachesFromTheSmallestToTheLargestValue) {
  const float smallest = std::numeric_limits<float>::denorm_min();
  const float normal = std::numeric_limits<float>::min();
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(NormOf({smallest}), smallest);
  EXPECT_EQ(NormOf({normal, 0}), normal);
  EXPECT_EQ(NormOf({largest}), largest);
  // 65536 x 4 of them fill a word's carry.
  EXPECT_EQ(NormOf(std::vector<float>(1 << 18, largest)), 512.0 * largest);
}

TEST(SquareSum, SaysWhatIsNotFinite) {
  EXPECT_EQ(NormOf({1, -kInfinity}), kInfinity);
  EXPECT_TRUE(std::isnan(NormOf({1, kNan, kInfinity})));
}

// In double, 1 + 2^-60 + ... of so many depends on the order.
TEST(SquareSum, DependsOnNoOrderAndNoCut) {
  std::mt19937 random(7);
  std::vector<float> values(200'000);
  for (float& value : values) {
    const int exponent = static_cast<int>(random() % 60) - 30;
    value = std::ldexp(static_cast<float>(random() % 1000), exponent);
  }
  const SquareSum whole = SumOf(values);
  std::shuffle(values.begin(), values.end(), random);
  SquareSum pieces;
  for (size_t start = 0; start < values.size();) {
    const size_t length = std::min<size_t>(1 + random() % 70'000, values.size() - start);
    SquareSum piece;
    piece.Add(std::span(values).subspan(start, length));
    pieces.Add(SquareSum(piece.ToBytes()));
    start += length;
  }
  EXPECT_EQ(pieces.ToBytes(), whole.ToBytes());
}

// As clip_grad_norm_: max_norm / (norm + 1e-6), never above 1.
TEST(ClipFactor, IsPyTorchs) {
  EXPECT_EQ(ClipFactor(1, 4), static_cast<float>(1 / 4.000001));
  EXPECT_EQ(ClipFactor(5, 5), static_cast<float>(5 / 5.000001));
  EXPECT_EQ(ClipFactor(5, 4.9), 1);
  EXPECT_EQ(ClipFactor(5, 0), 1);
  EXPECT_EQ(ClipFactor(5, kInfinity), 0);
  EXPECT_TRUE(std::isnan(ClipFactor(5, kNan)));
}

TEST(ClipToNorm, ScalesWhatIsTooLong) {
  std::vector<float> gradient = {3, -4};
  ClipToNorm(0, gradient);
  EXPECT_EQ(gradient, (std::vector<float>{3, -4}));
  ClipToNorm(6, gradient);
  EXPECT_EQ(gradient, (std::vector<float>{3, -4}));
  ClipToNorm(1, gradient);
  const auto factor = static_cast<float>(1 / 5.000001);
  EXPECT_EQ(gradient, (std::vector<float>{3 * factor, -4 * factor}));
}

}  // namespace
}  // namespace crossover
