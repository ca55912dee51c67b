// How many cores this process may use.
#ifndef CROSSOVER_OS_USABLE_CORES_H_
#define CROSSOVER_OS_USABLE_CORES_H_

namespace crossover::os {

// By its affinity mask, which taskset and containers narrow; 0 where the kernel does not say.
// Thread-safe.
int UsableCores();

}  // namespace crossover::os

#endif  // CROSSOVER_OS_USABLE_CORES_H_
