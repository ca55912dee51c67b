// Turns SIGINT, SIGTERM and SIGCHLD into something to wait for. Construct it first
// in main, before any thread starts: every thread inherits the blocked mask, so the
// signals reach nobody but Wait.
#ifndef CROSSOVER_EXPERIMENTS_SIGNAL_WAITER_H_
#define CROSSOVER_EXPERIMENTS_SIGNAL_WAITER_H_

#include <csignal>

namespace crossover::experiments {

class SignalWaiter {
 public:
  SignalWaiter();
  // Blocks until one of the signals comes (returned) or the time is over (0).
  int Wait(double seconds) const;

 private:
  sigset_t signals_;
};

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_SIGNAL_WAITER_H_
