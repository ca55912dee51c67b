// A thread that takes no signals, so that they reach the one that waits for them.
#ifndef CROSSOVER_EXPERIMENTS_HOSTS_QUIET_THREAD_H_
#define CROSSOVER_EXPERIMENTS_HOSTS_QUIET_THREAD_H_

#include <csignal>
#include <functional>
#include <thread>
#include <utility>

namespace crossover::experiments {

inline std::thread StartQuietThread(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread thread(std::move(body));  // inherits the mask
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HOSTS_QUIET_THREAD_H_
