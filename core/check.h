// CROSSOVER_CHECK(condition, "why it must hold"): ends the process with file,
// line and reason when one of our own invariants is broken. Bad input, peers
// and the network get an absl::Status instead.
#ifndef CROSSOVER_CORE_CHECK_H_
#define CROSSOVER_CORE_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace crossover {

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition,
                                     const char* why) {
  std::fprintf(stderr, "%s:%d: bug: %s does not hold: %s\n", file, line, condition, why);
  std::abort();
}

}  // namespace crossover

#define CROSSOVER_CHECK(condition, why) \
  ((condition) ? (void)0 : ::crossover::CheckFailed(__FILE__, __LINE__, #condition, why))

#endif  // CROSSOVER_CORE_CHECK_H_
