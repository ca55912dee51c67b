#include "core/clock.h"

#include <cerrno>
#include <ctime>

namespace crossover {

int64_t SystemClock::NowNs() const {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

void SystemClock::SleepNs(int64_t duration_ns) {
  if (duration_ns <= 0) return;
  timespec left{duration_ns / 1'000'000'000, duration_ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
}

}  // namespace crossover
