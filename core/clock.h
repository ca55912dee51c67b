// Monotonic time, injected: nothing but a Clock asks the operating system for
// the time or sleeps (waits for a condition or a socket with a time-out follow real
// time whatever clock is injected). SystemClock is thread-safe.
#ifndef CROSSOVER_CORE_CLOCK_H_
#define CROSSOVER_CORE_CLOCK_H_

#include <cstdint>

namespace crossover {

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since an arbitrary start; never goes back. Comparable between
  // the processes of one host (CLOCK_MONOTONIC), not between hosts.
  virtual int64_t NowNs() const = 0;
  // Blocks the caller; returns at once for a duration that is not positive.
  virtual void SleepNs(int64_t duration_ns) = 0;
};

// The operating system's clock. Stateless: any number may exist.
class SystemClock final : public Clock {
 public:
  int64_t NowNs() const override;
  void SleepNs(int64_t duration_ns) override;
};

// Stands still until told; sleeping advances it. For tests; not thread-safe.
class ManualClock final : public Clock {
 public:
  int64_t NowNs() const override { return now_ns_; }
  void SleepNs(int64_t duration_ns) override { Advance(duration_ns); }
  void Advance(int64_t duration_ns) {
    if (duration_ns > 0) now_ns_ += duration_ns;
  }

 private:
  int64_t now_ns_ = 0;
};

}  // namespace crossover

#endif  // CROSSOVER_CORE_CLOCK_H_
