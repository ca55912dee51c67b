#include "worker/watchdog.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace crossover::worker {

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    disarmed_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::Arm(double seconds, const std::string& line) {
  std::lock_guard lock(mutex_);
  if (disarmed_ || thread_.joinable()) return;
  thread_ = std::thread([this, seconds, line] {
    std::unique_lock waiting(mutex_);
    const auto disarmed = [this] { return disarmed_; };
    if (changed_.wait_for(waiting, std::chrono::duration<double>(seconds), disarmed)) return;
    std::fprintf(stderr, "%s (and this process did not come to an orderly end)\n", line.c_str());
    _exit(1);
  });
}

}  // namespace crossover::worker
