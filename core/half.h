// Between halves, as bytes in memory, and the fp32 values that they are computed in. Widening is
// exact; narrowing rounds to nearest even, overflows to infinity and keeps NaN a (quiet) NaN with
// its sign and leading bits. The same bits whatever this processor has. Pure, thread-safe;
// pointers need no alignment, and ranges do not overlap.
#ifndef CROSSOVER_CORE_HALF_H_
#define CROSSOVER_CORE_HALF_H_

#include <cstddef>
#include <cstdint>

namespace crossover {

// IEEE half.
float Float16ToFloat(uint16_t bits);
uint16_t FloatToFloat16(float value);
void Float16sToFloats(const std::byte* from, float* into, int64_t count);
void FloatsToFloat16s(const float* from, std::byte* into, int64_t count);

// The upper half of an fp32.
float Bfloat16ToFloat(uint16_t bits);
uint16_t FloatToBfloat16(float value);
void Bfloat16sToFloats(const std::byte* from, float* into, int64_t count);
void FloatsToBfloat16s(const float* from, std::byte* into, int64_t count);

}  // namespace crossover

#endif  // CROSSOVER_CORE_HALF_H_
