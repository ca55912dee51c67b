// One round of a bounded spin: a hint to the processor, or the core for whoever waits for it,
// where ranks of a host outnumber its cores. Thread-safe.
#ifndef CROSSOVER_ALLREDUCE_PAUSE_H_
#define CROSSOVER_ALLREDUCE_PAUSE_H_

#include <sched.h>

namespace crossover::allreduce {

inline void Pause(bool yield) {
  if (yield) {
    sched_yield();
    return;
  }
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_PAUSE_H_
