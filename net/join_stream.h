// The client's end of one Join call: an ordered, bounded queue of messages out, and
// messages in to a handler. What they mean is net/rendezvous_client.h's affair.
#ifndef CROSSOVER_NET_JOIN_STREAM_H_
#define CROSSOVER_NET_JOIN_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "net/identity.h"
#include "proto/rendezvous.grpc.pb.h"

namespace crossover::net {

// Thread-safe. The handlers run on gRPC's threads, one at a time, with no lock of
// this class held; they may call Send and Cancel, and must not destroy the stream.
class JoinStream final
    : private grpc::ClientBidiReactor<proto::MemberMessage, proto::RendezvousMessage> {
 public:
  struct Handlers {
    std::function<void(const proto::RendezvousMessage&)> on_message;
    // Once, last.
    std::function<void(const absl::Status&)> on_end;
  };
  JoinStream(const std::shared_ptr<grpc::Channel>& channel, const Identity& identity,
             Handlers handlers);
  // Cancels, and blocks until on_end has returned.
  ~JoinStream() override;
  JoinStream(const JoinStream&) = delete;
  JoinStream& operator=(const JoinStream&) = delete;

  // Once, before Send. From now on handlers are called.
  void Start();
  // Never blocks. A ping replaces one that still waits. False if the stream has ended
  // or takes no more because the other side does not read.
  bool Send(proto::MemberMessage message);
  void Cancel();

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  // With mutex_ held: true if the hold is to be removed now, by the caller.
  bool TakeHold();

  const std::unique_ptr<proto::Rendezvous::Stub> stub_;
  const Handlers handlers_;
  grpc::ClientContext context_;

  // gRPC is never called with it held. A write that was marked (writing_) keeps the hold
  // until its reaction, so the call is still there when the write is started.
  std::mutex mutex_;
  std::condition_variable done_changed_;
  std::deque<proto::MemberMessage> queue_;
  bool started_ = false;
  bool writing_ = false;
  bool closed_ = false;  // no write is started any more
  // The hold keeps OnDone back while a write could be started from outside a reaction.
  bool holding_ = false;
  bool done_ = false;

  // gRPC's while a write or a read runs.
  proto::MemberMessage outgoing_;
  proto::RendezvousMessage incoming_;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_JOIN_STREAM_H_
