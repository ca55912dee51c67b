// The types of values that collectives move, and what they may do with them. Pure, thread-safe.
#ifndef CROSSOVER_CORE_DATA_TYPE_H_
#define CROSSOVER_CORE_DATA_TYPE_H_

#include <cstddef>
#include <cstdint>

namespace crossover {

// The numbers travel in frames: they never change their meaning.
enum class DataType : uint8_t {
  kFloat32 = 1,
  kFloat16 = 2,  // IEEE half
  kBfloat16 = 3,
  kFloat64 = 4,
  kInt32 = 5,
  kInt64 = 6,
};

enum class ReduceOp : uint8_t {
  kSum = 1,
  kAverage = 2,  // the sum divided by the number of contributions once, after the sum
  kMin = 3,
  kMax = 4,
};

size_t BytesOf(DataType type);
const char* NameOf(DataType type);  // "fp32", "fp16", "bf16", "fp64", "int32", "int64"
const char* NameOf(ReduceOp op);    // "sum", "average", "min", "max"

}  // namespace crossover

#endif  // CROSSOVER_CORE_DATA_TYPE_H_
