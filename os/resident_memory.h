// Memory of this machine: how much of it this process holds now, and how much is free.
#ifndef CROSSOVER_OS_RESIDENT_MEMORY_H_
#define CROSSOVER_OS_RESIDENT_MEMORY_H_

#include <cstdint>

namespace crossover::os {

// Bytes; 0 where /proc does not tell. Thread-safe.
int64_t ResidentBytes();

// What can be had without swapping (the kernel's MemAvailable), in bytes; 0 where /proc does not
// tell. Thread-safe.
int64_t AvailableBytes();

}  // namespace crossover::os

#endif  // CROSSOVER_OS_RESIDENT_MEMORY_H_
