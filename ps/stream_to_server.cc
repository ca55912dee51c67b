#include "ps/stream_to_server.h"

#include "absl/strings/str_cat.h"
#include "net/grpc_setup.h"

namespace crossover::ps {

StreamToServer::StreamToServer(int id, const std::string& address, int channel,
                               const net::Identity& identity, FrameHandler& handler,
                               SliceLender& lender, PartPool& pool)
    : id_(id),
      handler_(handler),
      lender_(lender),
      pool_(pool),
      stub_(net::MakeChannel(address, identity.tls_pem)) {
  net::SetCallIdentity(identity, context_);
  context_.AddMetadata(kChannelKey, absl::StrCat(channel));
}

void StreamToServer::Start(CompletionLoop& loop) {
  // A server that is not quite there yet is waited for; the client bounds the wait.
  context_.set_wait_for_ready(true);
  call_ = stub_.PrepareCall(&context_, kExchangeMethod, &loop.queue());
  call_->StartCall(start_.tag());
}

void StreamToServer::Send(const OutgoingFrame& frame) {
  const std::lock_guard lock(mutex_);
  if (closed_ || close_wanted_) return;
  queue_.push_back(frame);
  PumpLocked();
}

// One write at a time, and the closing after the last.
void StreamToServer::PumpLocked() {
  if (!started_ || writing_ || closed_) return;
  if (queue_.empty()) {
    if (!close_wanted_) return;
    closed_ = true;
    writing_ = true;
    call_->WritesDone(close_writes_.tag());
    return;
  }
  const OutgoingFrame& frame = queue_.front();
  writing_header_ = frame.header;
  outgoing_ = MessageOf(frame);
  queue_.pop_front();
  writing_ = true;
  call_->Write(outgoing_, write_.tag());
}

grpc::ByteBuffer StreamToServer::MessageOf(const OutgoingFrame& frame) {
  if (!frame.bytes.empty()) return MakeMessage(frame.header, lender_.Lend(frame.bytes));
  if (frame.values.empty()) return MakeMessage(frame.header);
  if (frame.header.type == DataType::kFloat32) {
    return MakeMessage(frame.header, lender_.Lend(std::as_bytes(frame.values)));
  }
  return MakeMessage(frame.header, CopyAs(frame.header.type, frame.values, pool_));
}

void StreamToServer::CloseWrites() {
  const std::lock_guard lock(mutex_);
  close_wanted_ = true;
  PumpLocked();
}

void StreamToServer::Cancel() { context_.TryCancel(); }

void StreamToServer::OnCompletion(int operation, bool ok) {
  switch (operation) {
    case kStart:
      OnStarted(ok);
      break;
    case kRead:
      OnRead(ok);
      break;
    case kWrite:
    case kCloseWrites:
      OnWritten(ok);
      break;
    default:
      finished_ = true;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!finished_ || writing_) return;
  }
  handler_.OnEnd(id_, own_end_.ok() ? net::FromGrpc(end_) : own_end_);
}

void StreamToServer::OnStarted(bool ok) {
  if (!ok) return OnRead(false);
  call_->Read(&incoming_, read_.tag());
  const std::lock_guard lock(mutex_);
  started_ = true;
  PumpLocked();
}

void StreamToServer::OnRead(bool ok) {
  if (!ok) {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    queue_.clear();
    call_->Finish(&end_, finish_.tag());
    return;
  }
  grpc::ByteBuffer buffer;
  buffer.Swap(&incoming_);
  // After a cancel too: only a read that fails tells that the stream has ended.
  call_->Read(&incoming_, read_.tag());
  if (!own_end_.ok()) return;
  const ReceivedMessage message(buffer);
  const absl::StatusOr<FrameHeader> header = DecodeHeader(message.bytes());
  own_end_ = header.status();
  if (own_end_.ok()) {
    own_end_ =
        handler_.OnFrame(id_, *header, message.bytes().Tail(FrameHeader::kBytes, header->type));
  }
  if (!own_end_.ok()) Cancel();
}

void StreamToServer::OnWritten(bool ok) {
  FrameHeader written;
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    outgoing_.Clear();
    written = writing_header_;
    if (!ok) closed_ = true;  // reading fails too, and ends the stream
    if (closed_) return;
    PumpLocked();
  }
  handler_.OnWritten(id_, written);
}

}  // namespace crossover::ps
