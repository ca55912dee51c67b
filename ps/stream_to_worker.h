// The server's end of one worker's stream: reads one message after the other,
// queues and writes replies, ends exactly once. Knows nothing of what is in them.
#ifndef CROSSOVER_PS_STREAM_TO_WORKER_H_
#define CROSSOVER_PS_STREAM_TO_WORKER_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/status.h"

namespace crossover::ps {

// What a stream tells its server, from gRPC's threads and never under the stream's
// lock. OnMessage and OnClosed come one at a time for each stream.
class StreamHandler {
 public:
  virtual ~StreamHandler() = default;
  // An error ends the stream with this status.
  virtual absl::Status OnMessage(int worker, const grpc::ByteBuffer& message) = 0;
  // Nothing more comes from the worker: it has closed its half or is gone.
  virtual void OnClosed(int worker) = 0;
  // The stream has ended; the last call.
  virtual void OnDone(int worker) = 0;
};

// Thread-safe. Keeps itself alive until gRPC is done with it.
class StreamToWorker final : public grpc::ServerGenericBidiReactor {
 public:
  // `handler` must live until its OnDone.
  static std::shared_ptr<StreamToWorker> Start(int worker, StreamHandler& handler);

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
  // Ends the stream with this status; the first one wins. Drops what is queued.
  void Fail(const absl::Status& why);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  StreamToWorker(int worker, StreamHandler& handler) : worker_(worker), handler_(handler) {}
  void EndLocked(const grpc::Status& status);
  void PumpLocked();

  const int worker_;
  StreamHandler& handler_;
  std::shared_ptr<StreamToWorker> self_;
  grpc::ByteBuffer incoming_;  // the reader's alone

  mutable std::mutex mutex_;
  std::deque<grpc::ByteBuffer> queue_;
  grpc::ByteBuffer outgoing_;
  bool writing_ = false;
  bool broken_ = false;
  bool finished_ = false;
  std::optional<grpc::Status> end_;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_STREAM_TO_WORKER_H_
