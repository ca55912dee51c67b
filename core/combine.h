// The elementwise arithmetic of collectives on values of any type (core/data_type.h), as bytes in
// memory. Elementwise and in a stated order, so that a result does not depend on how a buffer was
// cut. Halves are computed in fp32 and rounded to nearest even. A sum of integers wraps. Min
// and max give the same bits in any order: -0 is less than 0, and NaN if any is one. Compiled with
// -ffp-contract=off. Pure, thread-safe; pointers need no alignment; `count` is in values.
#ifndef CROSSOVER_CORE_COMBINE_H_
#define CROSSOVER_CORE_COMBINE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/data_type.h"

namespace crossover {

// into[i] = from[i] op into[i] (kAverage adds: FinishAverage divides). No overlap but into == from.
void Combine(DataType type, ReduceOp op, std::byte* into, const std::byte* from, int64_t count);

// into[i] = parts[0][i] op parts[1][i] op ... in that order; halves are added in fp32 and rounded
// once. `into` may be one of the parts, otherwise no overlap. With kAverage the result is the mean
// (divided in fp32, once). parts is not empty.
void CombineInOrder(DataType type, ReduceOp op, std::byte* into,
                    std::span<const std::byte* const> parts, int64_t count);

// The same into every buffer of `into`, which is not empty; each may be one of the parts. kStream
// writes past the caches: faster for large buffers that are none of the parts, slower for others.
enum class Stores { kCached, kStream };
void CombineInOrderIntoAll(DataType type, ReduceOp op, std::span<std::byte* const> into,
                           std::span<const std::byte* const> parts, int64_t count, Stores stores);

// values[i] /= contributions, correctly rounded (halves: from fp32); integers truncate towards 0.
void FinishAverage(DataType type, std::byte* values, int64_t count, int contributions);

}  // namespace crossover

#endif  // CROSSOVER_CORE_COMBINE_H_
