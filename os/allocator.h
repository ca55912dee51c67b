// How the C library's allocator deals with the system.
#ifndef CROSSOVER_OS_ALLOCATOR_H_
#define CROSSOVER_OS_ALLOCATOR_H_

namespace crossover::os {

// Memory that is freed stays with the process in place of going back to the system and being
// cleared anew for the next message: what gRPC receives is allocated and freed at the rate of the
// link. Each of the C library's arenas (one for each of a few threads) keeps at its top as much as
// it last needed, at most 256 MiB. For the whole process, and not undone. Before any thread is
// started.
void KeepFreedMemory();

}  // namespace crossover::os

#endif  // CROSSOVER_OS_ALLOCATOR_H_
