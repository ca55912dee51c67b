// Ends the process when an orderly end takes too long: after a run is lost every
// process must be gone within the job's deadline, whatever it is stuck in.
#ifndef CROSSOVER_WORKER_WATCHDOG_H_
#define CROSSOVER_WORKER_WATCHDOG_H_

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace crossover::worker {

// Thread-safe. Destruction disarms it.
class Watchdog {
 public:
  Watchdog() = default;
  ~Watchdog();
  // Unless destroyed before, after so many seconds prints `line` to standard error
  // and exits with 1. Only the first call counts.
  void Arm(double seconds, const std::string& line);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool disarmed_ = false;
  std::thread thread_;
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_WATCHDOG_H_
