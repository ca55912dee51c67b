// How the C library's allocator deals with the system.
#ifndef CROSSOVER_OS_ALLOCATOR_H_
#define CROSSOVER_OS_ALLOCATOR_H_

namespace crossover::os {

// Memory that is freed stays with the process, up to 256 MiB of it, in place of going back to the
// system and being cleared anew for the next message: what gRPC receives is allocated and freed at
// the rate of the link. Before any thread is started.
void KeepFreedMemory();

}  // namespace crossover::os

#endif  // CROSSOVER_OS_ALLOCATOR_H_
