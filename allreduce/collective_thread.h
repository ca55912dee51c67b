// A communicator in a thread of its own, beside the backward pass: collectives are queued in
// order, several are in flight at once, and each is waited for by its number.
//
// Queue, IsDone and Wait belong to one thread at a time; callbacks run in the collectives' thread.
// After a failure everything that is queued or will be ends with its status.
#ifndef CROSSOVER_ALLREDUCE_COLLECTIVE_THREAD_H_
#define CROSSOVER_ALLREDUCE_COLLECTIVE_THREAD_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "allreduce/communicator.h"

namespace crossover::allreduce {

class CollectiveThread {
 public:
  struct Options {
    // Collectives in flight at once; further ones wait in the queue.
    int in_flight_max = 4;
  };
  // `communicator` is borrowed, outlives this, and is used by nobody else meanwhile.
  CollectiveThread(Communicator& communicator, const Options& options);
  // Finishes what is queued first; whoever cannot wait aborts the endpoint.
  ~CollectiveThread();

  // Numbers count from 0. `done` runs when the collective is done (not after a failure); it must
  // not block. The request's name is copied. Never blocks for longer than the lock.
  int64_t Queue(const Communicator::Request& request, std::function<void()> done = nullptr);
  // Whether collective `number` has ended: then Wait does not block.
  bool IsDone(int64_t number);
  // Blocks until collective `number` has ended; the first failure of any so far.
  absl::Status Wait(int64_t number);

 private:
  struct Task {
    Communicator::Request request;
    std::string name;
    std::function<void()> done;
  };
  struct InFlight {
    int64_t number = 0;  // the communicator's
    std::function<void()> done;
  };

  void Run();
  absl::Status StartQueued(bool& stop);
  absl::Status MoveOn();
  void FinishFront();
  void Fail(const absl::Status& status);

  Communicator& communicator_;
  const Options options_;
  std::deque<InFlight> in_flight_;  // of the thread

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;
  int64_t queued_ = 0;
  int64_t ended_ = 0;
  bool stopping_ = false;
  absl::Status status_;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_COLLECTIVE_THREAD_H_
