#include "os/termination.h"

#include <utility>

namespace crossover::os {

int ExitCodeOf(int signal) { return 128 + signal; }

Termination::Termination() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGUSR2);  // from the destructor to the waiting thread
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

Termination::~Termination() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  pthread_kill(thread_.native_handle(), SIGUSR2);
  thread_.join();
}

void Termination::OnSignal(std::function<void(int signal)> stop) {
  thread_ = std::thread([this, stop = std::move(stop)] {
    int signal = 0;
    while (sigwait(&signals_, &signal) == 0) {
      {
        std::lock_guard lock(mutex_);
        if (ending_) return;
        if (signal == SIGUSR2 || signal_ != 0) continue;
        signal_ = signal;
      }
      stop(signal);
    }
  });
}

int Termination::signal() const {
  std::lock_guard lock(mutex_);
  return signal_;
}

}  // namespace crossover::os
