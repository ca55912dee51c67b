// Turns SIGINT, SIGTERM and SIGCHLD into something to wait for. Construct it
// before any thread starts: every thread inherits the blocked mask, so the signals
// reach nobody but Wait. Until then they end the program.
#ifndef CROSSOVER_EXPERIMENTS_LAUNCH_SIGNAL_WAITER_H_
#define CROSSOVER_EXPERIMENTS_LAUNCH_SIGNAL_WAITER_H_

#include <csignal>

namespace crossover::experiments {

class SignalWaiter {
 public:
  SignalWaiter();
  ~SignalWaiter();  // signals do again what they did before
  SignalWaiter(const SignalWaiter&) = delete;
  SignalWaiter& operator=(const SignalWaiter&) = delete;
  // Blocks until one of the signals comes (returned) or the time is over (0).
  int Wait(double seconds);
  // The last SIGINT or SIGTERM that Wait returned, or 0.
  int ended_by() const { return ended_by_; }

 private:
  sigset_t signals_;
  sigset_t before_;
  int ended_by_ = 0;
};

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_LAUNCH_SIGNAL_WAITER_H_
