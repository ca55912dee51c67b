// The arithmetic on flat buffers: sums, scaling, and figures that tell two
// buffers apart. Sizes of the spans of one call must agree (CHECK). Elementwise
// and in a fixed order, so that a result does not depend on how a buffer was cut.
// Compiled with -ffp-contract=off. Pure, thread-safe.
#ifndef CROSSOVER_CORE_REDUCE_H_
#define CROSSOVER_CORE_REDUCE_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace crossover {

// into[i] += from[i]
void AddInto(std::span<float> into, std::span<const float> from);
// The same from raw little-endian bytes of any alignment; from.size() == 4 * into.size().
void AddBytesInto(std::span<float> into, std::span<const std::byte> from);
// values[i] /= divisor, correctly rounded: how a sum over `divisor` contributions becomes
// their mean. (Multiplying by the rounded 1/3 instead would shift every mean by up to
// 2^-25 in one direction, and parameters that are averaged step by step would drift.)
void DivideBy(std::span<float> values, int divisor);

// Sum of squares in double: blocks of 4096 values are summed one by one, then
// the blocks' sums in order, so the result depends on the values alone.
double SumOfSquares(std::span<const float> values);
// ||a - b|| / ||b||; 0 if both are zero, infinite if only b is.
double RelativeDifference(std::span<const float> a, std::span<const float> b);
// FNV-1a over the values' bits: equal buffers, equal fingerprints.
uint64_t Fingerprint(std::span<const float> values);

}  // namespace crossover

#endif  // CROSSOVER_CORE_REDUCE_H_
