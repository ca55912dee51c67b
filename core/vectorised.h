// Runs a loop compiled for the widest vectors that this processor has; the results are the same
// bits whatever it has. Thread-safe.
#ifndef CROSSOVER_CORE_VECTORISED_H_
#define CROSSOVER_CORE_VECTORISED_H_

namespace crossover {

// Tests lower it, to run what older processors would.
#ifndef CROSSOVER_VECTOR_BITS_MAX
#define CROSSOVER_VECTOR_BITS_MAX 512
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define CROSSOVER_INLINE_LOOP [[gnu::always_inline]] inline

template <typename Loop, typename... Args>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"), gnu::noinline]] void
RunOnAvx512(Args... args) {
  Loop::Run(args...);
}

template <typename Loop, typename... Args>
[[gnu::target("avx2"), gnu::noinline]] void RunOnAvx2(Args... args) {
  Loop::Run(args...);
}

// Loop::Run(args...) must be declared CROSSOVER_INLINE_LOOP, as must all that it calls. (Not the
// compiler's target_clones: their resolvers run before a sanitizer's runtime is ready.)
template <typename Loop, typename... Args>
void RunVectorised(Args... args) {
  if (CROSSOVER_VECTOR_BITS_MAX >= 512 && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    return RunOnAvx512<Loop>(args...);
  }
  if (CROSSOVER_VECTOR_BITS_MAX >= 256 && __builtin_cpu_supports("avx2"))
    return RunOnAvx2<Loop>(args...);
  Loop::Run(args...);
}

#else
#define CROSSOVER_INLINE_LOOP inline

template <typename Loop, typename... Args>
void RunVectorised(Args... args) {
  Loop::Run(args...);
}
#endif

}  // namespace crossover

#endif  // CROSSOVER_CORE_VECTORISED_H_
