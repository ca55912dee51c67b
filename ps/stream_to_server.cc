#include "ps/stream_to_server.h"

#include "net/grpc_setup.h"
#include "net/thread_handover.h"

namespace crossover::ps {

StreamToServer::StreamToServer(int server, const std::string& address, FrameHandler& handler,
                               SliceLender& lender)
    : server_(server), handler_(handler), lender_(lender), stub_(net::MakeChannel(address)) {}

void StreamToServer::Start(const net::Identity& identity) {
  net::SetCallIdentity(identity, context_);
  // A server that is not quite there yet is waited for; the client bounds the wait.
  context_.set_wait_for_ready(true);
  stub_.PrepareBidiStreamingCall(&context_, kExchangeMethod, {}, this);
  AddHold();  // writes start outside of reactions; taken back when reading ends
  net::HandOver(this);
  StartRead(&incoming_);
  StartCall();
}

void StreamToServer::Send(const OutgoingFrame& frame) {
  const std::lock_guard lock(mutex_);
  if (closed_ || close_wanted_) return;
  queue_.push_back(frame);
  PumpLocked();
}

// One write at a time, and the closing after the last.
void StreamToServer::PumpLocked() {
  if (writing_ || closed_) return;
  if (queue_.empty()) {
    if (!close_wanted_) return;
    closed_ = true;
    StartWritesDone();
    return;
  }
  const OutgoingFrame& frame = queue_.front();
  writing_header_ = frame.header;
  outgoing_ = frame.payload.empty() ? MakeMessage(frame.header)
                                    : MakeMessage(frame.header, lender_.Lend(frame.payload));
  queue_.pop_front();
  writing_ = true;
  StartWrite(&outgoing_);
}

void StreamToServer::CloseWrites() {
  const std::lock_guard lock(mutex_);
  close_wanted_ = true;
  PumpLocked();
}

void StreamToServer::Cancel() { context_.TryCancel(); }

void StreamToServer::OnReadDone(bool ok) {
  net::TakeOver(this);
  if (!ok) {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      queue_.clear();
    }
    RemoveHold();
    return;
  }
  absl::Status status;
  if (own_end_.ok()) {
    const ReceivedMessage message(incoming_);
    const absl::StatusOr<FrameHeader> header = DecodeHeader(message.bytes());
    status = header.status();
    if (status.ok()) {
      status = handler_.OnFrame(server_, *header, message.bytes().Tail(FrameHeader::kBytes));
    }
  }
  incoming_.Clear();
  if (!status.ok()) {
    own_end_ = status;
    Cancel();
  }
  net::HandOver(this);
  // After a cancel too: only a read that fails tells that the stream has ended.
  StartRead(&incoming_);
}

void StreamToServer::OnWriteDone(bool ok) {
  net::TakeOver(this);
  FrameHeader written;
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    outgoing_.Clear();
    written = writing_header_;
    if (!ok) closed_ = true;  // reading fails too, and ends the stream
    PumpLocked();
  }
  if (ok) handler_.OnWritten(server_, written);
}

void StreamToServer::OnDone(const grpc::Status& status) {
  net::TakeOver(this);
  handler_.OnEnd(server_, own_end_.ok() ? net::FromGrpc(status) : own_end_);
}

}  // namespace crossover::ps
