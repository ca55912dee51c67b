#include "core/gradient_norm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace crossover {
namespace {

static_assert(std::endian::native == std::endian::little, "sums travel as little-endian words");

constexpr uint32_t kMantissaBits = 23;
constexpr uint32_t kNotFinite = 255;  // as exponent
// A square has up to 48 bits: so many of them fit in a word.
constexpr size_t kBlock = 65536;

}  // namespace

SquareSum::SquareSum(std::span<const std::byte, kBytes> bytes) {
  std::memcpy(words_.data(), bytes.data(), sizeof(words_));
  std::memcpy(&infinities_, bytes.data() + sizeof(words_), sizeof(infinities_));
  std::memcpy(&nans_, bytes.data() + sizeof(words_) + sizeof(infinities_), sizeof(nans_));
}

std::array<std::byte, SquareSum::kBytes> SquareSum::ToBytes() const {
  std::array<std::byte, kBytes> bytes;
  static_assert(sizeof(words_) + sizeof(infinities_) + sizeof(nans_) == kBytes);
  std::memcpy(bytes.data(), words_.data(), sizeof(words_));
  std::memcpy(bytes.data() + sizeof(words_), &infinities_, sizeof(infinities_));
  std::memcpy(bytes.data() + sizeof(words_) + sizeof(infinities_), &nans_, sizeof(nans_));
  return bytes;
}

void SquareSum::Add(std::span<const float> values) {
  for (size_t start = 0; start < values.size(); start += kBlock) {
    // Squares of mantissas, by exponent: sums of whole numbers.
    std::array<uint64_t, kNotFinite> squares = {};
    for (const float value : values.subspan(start, std::min(kBlock, values.size() - start))) {
      const auto bits = std::bit_cast<uint32_t>(value);
      const uint32_t exponent = bits >> kMantissaBits & 0xff;
      const uint64_t fraction = bits & ((1U << kMantissaBits) - 1);
      if (exponent == kNotFinite) {
        ++(fraction == 0 ? infinities_ : nans_);
        continue;
      }
      const uint64_t mantissa = fraction | (exponent == 0 ? 0 : 1U << kMantissaBits);
      squares[exponent] += mantissa * mantissa;
    }
    // A subnormal value (exponent 0) has the scale of exponent 1.
    for (size_t exponent = 0; exponent < squares.size(); ++exponent) {
      AddAt(2 * (std::max<size_t>(exponent, 1) - 1), squares[exponent]);
    }
  }
}

void SquareSum::AddAt(size_t bit, uint64_t value) {
  if (value == 0) return;
  const size_t word = bit / 64;
  const size_t shift = bit % 64;
  AddWord(word, value << shift);
  if (shift > 0) AddWord(word + 1, value >> (64 - shift));
}

void SquareSum::AddWord(size_t word, uint64_t value) {
  for (; value > 0 && word < kWords; ++word) {
    words_[word] += value;
    value = words_[word] < value ? 1 : 0;  // the carry
  }
}

void SquareSum::Add(const SquareSum& other) {
  for (size_t word = 0; word < kWords; ++word) AddWord(word, other.words_[word]);
  infinities_ += other.infinities_;
  nans_ += other.nans_;
}

double SquareSum::Norm() const {
  if (nans_ > 0) return std::numeric_limits<double>::quiet_NaN();
  if (infinities_ > 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (size_t word = 0; word < kWords; ++word) {
    sum += std::ldexp(static_cast<double>(words_[word]), static_cast<int>(64 * word) - 298);
  }
  return std::sqrt(sum);
}

float ClipFactor(double norm_max, double norm) {
  const double factor = norm_max / (norm + 1e-6);
  return static_cast<float>(factor > 1 ? 1 : factor);
}

void MultiplyBy(std::span<float> values, float factor) {
  if (factor == 1) return;
  for (float& value : values) value *= factor;
}

void ClipToNorm(double norm_max, std::span<float> gradient) {
  if (norm_max == 0) return;
  SquareSum squares;
  squares.Add(gradient);
  MultiplyBy(gradient, ClipFactor(norm_max, squares.Norm()));
}

}  // namespace crossover
