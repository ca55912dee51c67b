// SIGTERM and SIGINT as a call on an ordinary thread, where anything may be done.
// Construct it first in main, before any other thread starts, so that all of them
// inherit the blocked signals.
#ifndef CROSSOVER_OS_TERMINATION_H_
#define CROSSOVER_OS_TERMINATION_H_

#include <csignal>
#include <functional>
#include <mutex>
#include <thread>

namespace crossover::os {

// A process that was told to stop ends with 128 + the signal's number, as a shell
// reports it (143 for SIGTERM).
int ExitCodeOf(int signal);

// Thread-safe.
class Termination {
 public:
  Termination();
  ~Termination();
  // From now on `stop` is called, once, for the first signal, which may have come
  // before. Until then signals wait.
  void OnSignal(std::function<void(int signal)> stop);
  // The signal that came, or 0.
  int signal() const;

 private:
  sigset_t signals_;
  mutable std::mutex mutex_;
  int signal_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace crossover::os

#endif  // CROSSOVER_OS_TERMINATION_H_
