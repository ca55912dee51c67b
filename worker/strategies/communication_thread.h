// The one communication thread of a worker: runs tasks in the order in which they
// were queued, beside the backward pass. Bounded: at most `capacity` tasks wait
// (more is a bug, CHECK-fails: a step queues each bucket once). After a task has
// failed the rest are dropped with its status.
#ifndef CROSSOVER_WORKER_STRATEGIES_COMMUNICATION_THREAD_H_
#define CROSSOVER_WORKER_STRATEGIES_COMMUNICATION_THREAD_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/status/status.h"

namespace crossover::worker {

// Queue and Wait belong to one thread, the compute thread.
class CommunicationThread {
 public:
  explicit CommunicationThread(size_t capacity);
  // Finishes what is queued first; the owner aborts its transport if it cannot wait.
  ~CommunicationThread();

  // Never blocks for longer than the lock. Tasks are numbered from 0.
  int64_t Queue(std::function<absl::Status()> task);
  // Whether task `number` has run: then Wait does not block.
  bool IsDone(int64_t number);
  // Blocks until task `number` has run. The first failure of any task so far.
  absl::Status Wait(int64_t number);

 private:
  void Run();

  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<absl::Status()>> waiting_;
  int64_t queued_ = 0;
  int64_t done_ = 0;
  bool stopping_ = false;
  absl::Status status_;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_STRATEGIES_COMMUNICATION_THREAD_H_
