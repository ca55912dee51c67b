// A completion queue of gRPC's and the one thread that runs what completes on it. Everything that a
// process receives comes on that thread, so it needs no lock of its own and wakes no other.
#ifndef CROSSOVER_PS_COMPLETION_LOOP_H_
#define CROSSOVER_PS_COMPLETION_LOOP_H_

#include <grpcpp/completion_queue.h>

#include <memory>
#include <thread>

namespace crossover::ps {

class Completing {
 public:
  virtual ~Completing() = default;
  // On the loop's thread; `ok` is gRPC's. May destroy this.
  virtual void OnCompletion(int operation, bool ok) = 0;
};

// One operation of an object that it is a member of, under way at most once at a time.
class Completion {
 public:
  Completion(Completing& owner, int operation) : owner_(owner), operation_(operation) {}
  // For gRPC. What this thread has done so far comes before the OnCompletion.
  void* tag();

 private:
  friend class CompletionLoop;
  Completing& owner_;
  const int operation_;
};

class CompletionLoop {
 public:
  // Starts the thread.
  explicit CompletionLoop(std::unique_ptr<grpc::CompletionQueue> queue);
  // Stops.
  ~CompletionLoop();

  grpc::CompletionQueue& queue() { return *queue_; }
  // No operation may start any more; returns when all have completed. Not from the loop's thread.
  void Stop();

 private:
  void Run();

  const std::unique_ptr<grpc::CompletionQueue> queue_;
  std::thread thread_;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_COMPLETION_LOOP_H_
