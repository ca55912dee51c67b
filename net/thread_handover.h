// gRPC orders a stream's construction before its callbacks, and one callback of a
// kind before the next, by means that ThreadSanitizer cannot see (its library is
// not instrumented). These two tell it of just that order, so that it can check
// everything else; in other builds they are nothing. Never a substitute for a lock.
#ifndef CROSSOVER_NET_THREAD_HANDOVER_H_
#define CROSSOVER_NET_THREAD_HANDOVER_H_

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace crossover::net {

// What this thread has done so far comes before what follows the TakeOver.
inline void HandOver([[maybe_unused]] const void* object) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(const_cast<void*>(object));
#endif
}

inline void TakeOver([[maybe_unused]] const void* object) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(const_cast<void*>(object));
#endif
}

}  // namespace crossover::net

#endif  // CROSSOVER_NET_THREAD_HANDOVER_H_
