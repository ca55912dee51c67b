// A worker's end of its stream to one server: queues and writes frames, hands over
// what comes, ends exactly once. Knows nothing of steps.
#ifndef CROSSOVER_PS_STREAM_TO_SERVER_H_
#define CROSSOVER_PS_STREAM_TO_SERVER_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "net/identity.h"
#include "ps/completion_loop.h"
#include "ps/frame_buffer.h"
#include "ps/part_pool.h"
#include "ps/payload.h"
#include "ps/wire.h"

namespace crossover::ps {

struct OutgoingFrame {
  FrameHeader header;
  // Borrowed until the frame has been answered: bytes as they are, or values that travel as the
  // header's type.
  std::span<const std::byte> bytes = {};
  std::span<const float> values = {};
};

// What a stream tells its client, on the loop's thread and never under the stream's lock. OnWritten
// of a frame may come after the frame's answer.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  // An error ends the stream with this status.
  virtual absl::Status OnFrame(int stream, const FrameHeader& header, const Payload& payload) = 0;
  virtual void OnWritten(int stream, const FrameHeader& header) = 0;
  // The stream has ended, with the server's status or our own; the last call.
  virtual void OnEnd(int stream, const absl::Status& status) = 0;
};

// Thread-safe. Must live from Start until its OnEnd, as must the handler; the lender
// must outlive it. gRPC is called with the mutex held: what completes comes through the queue,
// never inside a call.
class StreamToServer final : public Completing {
 public:
  // `id` is the handler's; `channel`: which of this worker's streams to the server (ps/wire.h).
  // Values that are not lent as they are take buffers of the pool's.
  StreamToServer(int id, const std::string& address, int channel, const net::Identity& identity,
                 FrameHandler& handler, SliceLender& lender, PartPool& pool);

  void Start(CompletionLoop& loop);
  // Queues a frame. Without effect on a stream that has ended.
  void Send(const OutgoingFrame& frame);
  // Nothing more will be sent after what is queued.
  void CloseWrites();
  // Ends the stream at once.
  void Cancel();

  void OnCompletion(int operation, bool ok) override;

 private:
  enum Operation { kStart, kRead, kWrite, kCloseWrites, kFinish };

  void OnStarted(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void PumpLocked();
  grpc::ByteBuffer MessageOf(const OutgoingFrame& frame);

  const int id_;
  FrameHandler& handler_;
  SliceLender& lender_;  // of the payloads
  PartPool& pool_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  Completion start_{*this, kStart};
  Completion read_{*this, kRead};
  Completion write_{*this, kWrite};
  Completion close_writes_{*this, kCloseWrites};
  Completion finish_{*this, kFinish};
  grpc::ByteBuffer incoming_;  // the loop's thread's alone, as is what follows
  absl::Status own_end_;       // why we ended the stream
  grpc::Status end_;
  bool finished_ = false;

  std::mutex mutex_;
  std::deque<OutgoingFrame> queue_;
  FrameHeader writing_header_;
  grpc::ByteBuffer outgoing_;
  bool started_ = false;
  bool writing_ = false;  // or closing
  bool close_wanted_ = false;
  bool closed_ = false;  // no more writes: closed, broken or ended
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_STREAM_TO_SERVER_H_
