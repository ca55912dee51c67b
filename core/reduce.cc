#include "core/reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/combine.h"
#include "core/data_type.h"
#include "core/fnv1a.h"

namespace crossover {
namespace {

static_assert(std::endian::native == std::endian::little, "values travel as little-endian bytes");

constexpr size_t kBlock = 4096;

// Sums term(i) for i in [0, size) in double, by blocks (SumOfSquares says why).
template <typename Term>
double SumInBlocks(size_t size, Term term) {
  double sum = 0;
  for (size_t start = 0; start < size; start += kBlock) {
    const size_t end = std::min(start + kBlock, size);
    double block_sum = 0;
    for (size_t i = start; i < end; ++i) block_sum += term(i);
    sum += block_sum;
  }
  return sum;
}

double Square(double value) { return value * value; }

}  // namespace

void AddInto(std::span<float> into, std::span<const float> from) {
  CROSSOVER_CHECK(into.size() == from.size(), "buffers that are added have one length");
  AddBytesInto(into, std::as_bytes(from));
}

void AddBytesInto(std::span<float> into, std::span<const std::byte> from) {
  CROSSOVER_CHECK(from.size() == into.size() * sizeof(float), "four bytes for each value");
  Combine(DataType::kFloat32, ReduceOp::kSum, std::as_writable_bytes(into).data(), from.data(),
          static_cast<int64_t>(into.size()));
}

void DivideBy(std::span<float> values, int divisor) {
  FinishAverage(DataType::kFloat32, std::as_writable_bytes(values).data(),
                static_cast<int64_t>(values.size()), divisor);
}

double SumOfSquares(std::span<const float> values) {
  return SumInBlocks(values.size(), [&](size_t i) { return Square(values[i]); });
}

double RelativeDifference(std::span<const float> a, std::span<const float> b) {
  CROSSOVER_CHECK(a.size() == b.size(), "buffers that are compared have one length");
  const double difference = std::sqrt(
      SumInBlocks(a.size(), [&](size_t i) { return Square(static_cast<double>(a[i]) - b[i]); }));
  const double reference = std::sqrt(SumOfSquares(b));
  if (reference == 0) return difference == 0 ? 0 : std::numeric_limits<double>::infinity();
  return difference / reference;
}

uint64_t Fingerprint(std::span<const float> values) { return Fnv1a(std::as_bytes(values)); }

}  // namespace crossover
