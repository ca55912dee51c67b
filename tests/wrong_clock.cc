// Preloaded into a program, makes its time of day wrong by seven hours, as on a host whose
// clock was never set. Linux has namespaces for its other clocks only. Waits of Abseil, and
// so of gRPC, that end at a time of day are moved back onto the right one, as on such a
// host; waits of pthreads are not (the programs make none on this clock).
#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <algorithm>
#include <cstdarg>
#include <ctime>

namespace {

constexpr time_t kAheadS = 7 * 3600;

// The C library's function, which the one below hides.
template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static auto* const real = Real<int(clockid_t, timespec*)>("clock_gettime");
  const int status = real(clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += kAheadS;
  return status;
}

int gettimeofday(timeval* now, void* zone) noexcept {
  static auto* const real = Real<int(timeval*, void*)>("gettimeofday");
  const int status = real(now, zone);
  now->tv_sec += kAheadS;
  return status;
}

time_t time(time_t* now) noexcept {
  timespec wrong{};
  clock_gettime(CLOCK_REALTIME, &wrong);
  if (now != nullptr) *now = wrong.tv_sec;
  return wrong.tv_sec;
}

long syscall(long number, ...) noexcept {
  static auto* const real = Real<long(long, ...)>("syscall");
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  timespec until{};
  const bool waits = number == SYS_futex && (arguments[1] & FUTEX_CLOCK_REALTIME) != 0;
  if (waits && arguments[3] != 0) {
    until = *reinterpret_cast<const timespec*>(arguments[3]);
    until.tv_sec = std::max<time_t>(until.tv_sec - kAheadS, 0);
    arguments[3] = reinterpret_cast<long>(&until);
  }
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
}

}  // extern "C"
