// How much of this process's memory is in RAM now.
#ifndef CROSSOVER_OS_RESIDENT_MEMORY_H_
#define CROSSOVER_OS_RESIDENT_MEMORY_H_

#include <cstdint>

namespace crossover::os {

// Bytes; 0 where /proc does not tell. Thread-safe.
int64_t ResidentBytes();

}  // namespace crossover::os

#endif  // CROSSOVER_OS_RESIDENT_MEMORY_H_
