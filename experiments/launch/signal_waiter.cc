#include "experiments/launch/signal_waiter.h"

#include <ctime>

namespace crossover::experiments {

SignalWaiter::SignalWaiter() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  // A terminal or log that goes away must not kill the launcher before it has
  // taken down what it started.
  std::signal(SIGPIPE, SIG_IGN);
}

SignalWaiter::~SignalWaiter() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int SignalWaiter::Wait(double seconds) {
  timespec limit;
  limit.tv_sec = static_cast<time_t>(seconds);
  limit.tv_nsec = static_cast<long>((seconds - static_cast<double>(limit.tv_sec)) * 1e9);
  const int signal = sigtimedwait(&signals_, nullptr, &limit);
  if (signal == SIGINT || signal == SIGTERM) ended_by_ = signal;
  return signal > 0 ? signal : 0;
}

}  // namespace crossover::experiments
