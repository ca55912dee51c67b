// The server's end of one worker's stream: reads one message after the other, queues and writes
// replies, ends exactly once. Knows nothing of what is in them.
#ifndef CROSSOVER_PS_STREAM_TO_WORKER_H_
#define CROSSOVER_PS_STREAM_TO_WORKER_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ps/completion_loop.h"

namespace crossover::ps {

class StreamToWorker;

// What a stream tells its server, never under the stream's lock. All but OnClosed come from the
// loop's thread.
class StreamHandler {
 public:
  virtual ~StreamHandler() = default;
  // A call has come: the number by which the handler knows its stream, or why it is refused. The
  // stream may be used from now on; it reads once this has returned.
  virtual absl::StatusOr<int> OnCall(const grpc::GenericServerContext& context,
                                     const std::shared_ptr<StreamToWorker>& stream) = 0;
  // Messages come in order. Each is handled, by any thread, when StreamToWorker::Handled is
  // called.
  virtual void OnMessage(int stream, const grpc::ByteBuffer& message) = 0;
  // Nothing more comes from the worker, which has closed its half or is gone, and all that came
  // has been handled. From the loop's thread, or within Handled.
  virtual void OnClosed(int stream) = 0;
  // The stream has ended; the last call.
  virtual void OnDone(int stream) = 0;
};

// Thread-safe. Keeps itself alive until gRPC is done with it. gRPC is called with the mutex held:
// what completes comes through the queue, never inside a call.
class StreamToWorker final : public Completing,
                             public std::enable_shared_from_this<StreamToWorker> {
 public:
  // Not a call yet: `context` and `call` are for AsyncGenericService::RequestCall. At most
  // `unhandled_max` messages are read and not yet handled. `handler` must live until OnDone.
  // `on_done` comes after it, also for a stream that was refused.
  StreamToWorker(StreamHandler& handler, int unhandled_max, std::function<void()> on_done)
      : handler_(handler), unhandled_max_(unhandled_max), on_done_(std::move(on_done)) {}
  grpc::GenericServerContext& context() { return context_; }
  grpc::GenericServerAsyncReaderWriter& call() { return call_; }
  // The call has come. From the loop's thread.
  void Start();

  // Queues a message. With more than `queued_max` waiting the worker does not read
  // what it asked for: the stream fails, with the error returned. Without effect on a
  // stream that ends.
  absl::Status Send(grpc::ByteBuffer message, size_t queued_max);
  // What waits for gRPC to take it.
  struct Queued {
    int64_t messages = 0;
    int64_t bytes = 0;
  };
  Queued queued() const;
  // The oldest message that was not handled has been; an error ends the stream with it.
  void Handled(const absl::Status& status);
  // Ends the stream with this status; the first one wins. Drops what is queued.
  void Fail(const absl::Status& why);

  void OnCompletion(int operation, bool ok) override;

 private:
  enum Operation { kRead, kWrite, kFinish };

  void OnRead(bool ok);
  void Close();
  void EndLocked(const grpc::Status& status);
  void PumpLocked();
  void ReadLocked();
  bool IsDoneLocked() const { return finished_ && !reading_ && !writing_; }

  StreamHandler& handler_;
  const int unhandled_max_;
  const std::function<void()> on_done_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter call_{&context_};
  Completion read_{*this, kRead};
  Completion write_{*this, kWrite};
  Completion finish_{*this, kFinish};
  int id_ = -1;  // of the handler; -1: refused
  std::shared_ptr<StreamToWorker> self_;

  mutable std::mutex mutex_;
  grpc::ByteBuffer incoming_;
  std::deque<grpc::ByteBuffer> queue_;
  grpc::ByteBuffer outgoing_;
  int unhandled_ = 0;
  bool reading_ = false;
  bool closed_ = false;  // nothing more comes
  bool writing_ = false;
  bool broken_ = false;
  bool finishing_ = false;
  bool finished_ = false;
  std::optional<grpc::Status> end_;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_STREAM_TO_WORKER_H_
