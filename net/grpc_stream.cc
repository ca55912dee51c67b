#include "net/grpc_stream.h"

#include <utility>

#include "net/grpc_setup.h"
#include "net/thread_handover.h"

namespace crossover::net {
namespace {

// What both ends have in common. `Reactor` is gRPC's.
template <typename Reactor>
class StreamOn : public Reactor, public GrpcStream {
 public:
  explicit StreamOn(GrpcGate& gate) : gate_(gate) {}

  void OnReadDone(bool ok) final {
    TakeOver(this);
    {
      const std::lock_guard lock(gate_.mutex);
      if (ok) {
        const absl::Status status = own_end_.ok() ? link_.Accept(incoming_) : absl::OkStatus();
        incoming_.Clear();
        if (!status.ok()) {
          own_end_ = status;
          Close(status);
        }
        Pump();
        ReadOn();
      } else {
        closed_ = true;
        ReadingHasEnded();
      }
    }
    gate_.changed.notify_all();
    HandOver(this);  // to OnDone, which comes after
  }

  void OnWriteDone(bool ok) final {
    TakeOver(this);
    const std::lock_guard lock(gate_.mutex);
    writing_ = false;
    outgoing_.Clear();
    if (!ok) closed_ = true;  // reading fails too, and ends the stream
    Pump();
  }

  void Pump() final {
    if (writing_) return;
    if (closed_) return NothingIsWritten();
    if (!link_.NextMessage(outgoing_)) return;
    writing_ = true;
    HandOver(this);
    this->StartWrite(&outgoing_);
  }

 protected:
  // The next read, unless the stream ends.
  virtual void ReadOn() = 0;
  virtual void ReadingHasEnded() = 0;
  // The stream is closed, and no write is under way.
  virtual void NothingIsWritten() {}

  void StartReading() {
    HandOver(this);
    this->StartRead(&incoming_);
  }
  // `why`: gRPC's or the called side's.
  void SetDone(const absl::Status& why) {
    TakeOver(this);
    const std::lock_guard lock(gate_.mutex);
    end_ = own_end_.ok() ? why : own_end_;
    done_ = true;
    gate_.changed.notify_all();  // within the lock: whoever waits may destroy this
  }

  GrpcGate& gate_;
  bool writing_ = false;
  bool closed_ = false;  // no more writes: closed, broken or ended
  absl::Status own_end_;

 private:
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
};

class CallingStream final
    : public StreamOn<grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>> {
 public:
  CallingStream(GrpcGate& gate, std::shared_ptr<grpc::Channel> channel, const Identity& identity)
      : StreamOn(gate), stub_(std::move(channel)) {
    SetCallIdentity(identity, context_);
    stub_.PrepareBidiStreamingCall(&context_, kGrpcPeerMethod, {}, this);
    AddHold();  // writes start outside of reactions; taken back when reading has ended
    StartReading();
    StartCall();
  }

  void Close(const absl::Status&) override { context_.TryCancel(); }
  void Cut() override { context_.TryCancel(); }
  void OnDone(const grpc::Status& status) override { SetDone(FromGrpc(status)); }

 private:
  // After a cancel too: only a read that fails tells that the stream has ended.
  void ReadOn() override { StartReading(); }
  void ReadingHasEnded() override { RemoveHold(); }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
};

class AnsweringStream final : public StreamOn<grpc::ServerGenericBidiReactor> {
 public:
  AnsweringStream(GrpcGate& gate, grpc::GenericCallbackServerContext& context)
      : StreamOn(gate), context_(context) {
    StartReading();
  }

  void Close(const absl::Status& why) override {
    if (std::exchange(closed_, true)) return;
    answer_ = ToGrpc(why);
    if (writing_) context_.TryCancel();
    Pump();
  }
  void Cut() override {
    if (!finished_) context_.TryCancel();
  }
  void OnDone() override { SetDone(absl::OkStatus()); }

 private:
  void ReadOn() override {
    if (!closed_) StartReading();
  }
  void ReadingHasEnded() override { Pump(); }
  // gRPC takes no Finish while it writes, and no write after it.
  void NothingIsWritten() override {
    if (!std::exchange(finished_, true)) Finish(answer_);
  }

  grpc::GenericCallbackServerContext& context_;  // valid until OnDone
  grpc::Status answer_;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<GrpcStream> CallGrpcPeer(GrpcGate& gate, std::shared_ptr<grpc::Channel> channel,
                                         const Identity& identity) {
  return std::make_unique<CallingStream>(gate, std::move(channel), identity);
}

AcceptedGrpcPeer AcceptGrpcPeer(GrpcGate& gate, grpc::GenericCallbackServerContext& context) {
  auto stream = std::make_unique<AnsweringStream>(gate, context);
  grpc::ServerGenericBidiReactor* const reactor = stream.get();
  return {std::move(stream), reactor};
}

}  // namespace crossover::net
