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
#include "ps/frame_buffer.h"
#include "ps/payload.h"
#include "ps/wire.h"

namespace crossover::ps {

struct OutgoingFrame {
  FrameHeader header;                  // payload_bytes follows from the payload
  std::span<const std::byte> payload;  // borrowed until the frame has been answered
};

// What a stream tells its client, from gRPC's threads and never under the stream's
// lock. OnFrame comes one at a time for each stream; OnWritten of a frame may come
// after the frame's answer.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  // An error ends the stream with this status.
  virtual absl::Status OnFrame(int server, const FrameHeader& header, const Payload& payload) = 0;
  virtual void OnWritten(int server, const FrameHeader& header) = 0;
  // The stream has ended, with the server's status or our own; the last call.
  virtual void OnEnd(int server, const absl::Status& status) = 0;
};

// Thread-safe. Must live from Start until its OnEnd, as must the handler; the lender
// must outlive it.
//
// gRPC is called with the mutex held. That is safe because gRPC runs no reaction inside
// a Start... call (a reaction goes to a thread of its own or to the end of the one
// under way), and needed: a frame comes from any thread, and the hold that keeps OnDone
// back is removed only after closed_ has been set under the mutex, so whoever has
// found the stream open may start a write until it lets the mutex go.
class StreamToServer final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  StreamToServer(int server, const std::string& address, FrameHandler& handler,
                 SliceLender& lender);

  void Start(const net::Identity& identity);
  // Queues a frame. Without effect on a stream that has ended.
  void Send(const OutgoingFrame& frame);
  // Nothing more will be sent after what is queued.
  void CloseWrites();
  // Ends the stream at once.
  void Cancel();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  void PumpLocked();

  const int server_;
  FrameHandler& handler_;
  SliceLender& lender_;  // of the payloads
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer incoming_;  // the reader's alone
  absl::Status own_end_;       // the reader's alone: why it ended the stream

  std::mutex mutex_;
  std::deque<OutgoingFrame> queue_;
  FrameHeader writing_header_;
  grpc::ByteBuffer outgoing_;
  bool writing_ = false;
  bool close_wanted_ = false;
  bool closed_ = false;  // no more writes: closed, broken or ended
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_STREAM_TO_SERVER_H_
