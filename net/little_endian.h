// Unsigned integers to and from little-endian bytes, the order of every header
// that Crossover writes itself. Pure; the caller guarantees room for sizeof(T) bytes.
#ifndef CROSSOVER_NET_LITTLE_ENDIAN_H_
#define CROSSOVER_NET_LITTLE_ENDIAN_H_

#include <concepts>
#include <cstddef>

namespace crossover::net {

template <std::unsigned_integral T>
void PutLittleEndian(T value, std::byte* into) {
  for (size_t i = 0; i < sizeof(T); ++i) into[i] = static_cast<std::byte>(value >> (8 * i));
}

template <std::unsigned_integral T>
T GetLittleEndian(const std::byte* from) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value |
                           (static_cast<T>(std::to_integer<unsigned char>(from[i])) << (8 * i)));
  }
  return value;
}

}  // namespace crossover::net

#endif  // CROSSOVER_NET_LITTLE_ENDIAN_H_
