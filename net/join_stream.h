// The client's end of one Join call: an ordered, bounded queue of messages out, and
// messages in to a handler. What they mean is net/rendezvous_client.h's affair.
//
// It has a completion queue and a thread of its own. gRPC's callback threads are few
// and shared by all calls of a process: where they are busy (with the pushes that a
// server applies) no heartbeat's answer would be read, and a busy process would take
// itself for one that has lost the rendezvous.
#ifndef CROSSOVER_NET_JOIN_STREAM_H_
#define CROSSOVER_NET_JOIN_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "net/identity.h"
#include "proto/rendezvous.grpc.pb.h"

namespace crossover::net {

// Thread-safe. The handlers run on the stream's thread, one at a time, with no lock of
// this class held; they may call Send and Cancel, and must not destroy the stream.
class JoinStream {
 public:
  struct Handlers {
    std::function<void(const proto::RendezvousMessage&)> on_message;
    // Once, last.
    std::function<void(const absl::Status&)> on_end;
  };
  JoinStream(const std::shared_ptr<grpc::Channel>& channel, const Identity& identity,
             Handlers handlers);
  // Cancels, and blocks until on_end has returned.
  ~JoinStream();
  JoinStream(const JoinStream&) = delete;
  JoinStream& operator=(const JoinStream&) = delete;

  // Once, before Send. From now on handlers are called.
  void Start();
  // Never blocks. A ping replaces one that still waits. False if the stream has ended
  // or takes no more because the other side does not read.
  bool Send(proto::MemberMessage message);
  void Cancel();

 private:
  using Call = grpc::ClientAsyncReaderWriter<proto::MemberMessage, proto::RendezvousMessage>;

  enum class Event { kBegun, kRead, kWritten, kEnded };

  void Loop();
  void OnRead(bool ok);
  // The call has begun, or a write has been done.
  void OnWritten(bool ok);
  void PumpLocked();

  const std::unique_ptr<proto::Rendezvous::Stub> stub_;
  const Handlers handlers_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::CompletionQueue> completions_;  // once started, as the two below
  std::unique_ptr<Call> call_;
  std::thread thread_;

  std::mutex mutex_;
  std::deque<proto::MemberMessage> queue_;
  bool writing_ = false;  // or the call has not begun
  bool closed_ = false;   // no write is started any more

  // Their addresses are gRPC's tags.
  Event begun_ = Event::kBegun;
  Event read_ = Event::kRead;
  Event written_ = Event::kWritten;
  Event ended_ = Event::kEnded;

  // The thread's alone, and gRPC's.
  proto::RendezvousMessage incoming_;
  grpc::Status end_;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_JOIN_STREAM_H_
