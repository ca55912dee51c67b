#include "ps/stream_to_worker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "net/grpc_setup.h"

namespace crossover::ps {

void StreamToWorker::Start() {
  self_ = shared_from_this();
  const absl::StatusOr<int> id = handler_.OnCall(context_, self_);
  if (id.ok()) id_ = *id;
  const std::lock_guard lock(mutex_);
  if (id.ok()) {
    ReadLocked();
  } else if (!end_) {
    EndLocked(net::ToGrpc(id.status()));
  }
}

absl::Status StreamToWorker::Send(grpc::ByteBuffer message, size_t queued_max) {
  const std::lock_guard lock(mutex_);
  if (end_) return absl::OkStatus();
  if (queue_.size() >= queued_max) {
    absl::Status why = absl::ResourceExhaustedError(
        absl::StrCat("the worker does not read its replies: ", queued_max, " wait for it"));
    queue_.clear();
    EndLocked(net::ToGrpc(why));
    return why;
  }
  queue_.emplace_back().Swap(&message);
  PumpLocked();
  return absl::OkStatus();
}

StreamToWorker::Queued StreamToWorker::queued() const {
  const std::lock_guard lock(mutex_);
  Queued queued;
  queued.messages = static_cast<int64_t>(queue_.size());
  for (const grpc::ByteBuffer& message : queue_) {
    queued.bytes += static_cast<int64_t>(message.Length());
  }
  if (writing_) {
    ++queued.messages;
    queued.bytes += static_cast<int64_t>(outgoing_.Length());
  }
  return queued;
}

void StreamToWorker::Fail(const absl::Status& why) {
  const std::lock_guard lock(mutex_);
  if (end_) return;
  queue_.clear();
  EndLocked(net::ToGrpc(why));
}

void StreamToWorker::Handled(const absl::Status& status) {
  if (!status.ok()) Fail(status);
  {
    const std::lock_guard lock(mutex_);
    --unhandled_;
    if (!closed_) return ReadLocked();
    if (unhandled_ > 0 || finished_) return;
  }
  Close();
}

// The next read, unless it is under way, has no room, or is not wanted any more.
void StreamToWorker::ReadLocked() {
  if (reading_ || closed_ || end_ || unhandled_ == unhandled_max_) return;
  reading_ = true;
  call_.Read(&incoming_, read_.tag());
}

void StreamToWorker::OnRead(bool ok) {
  grpc::ByteBuffer message;
  {
    const std::lock_guard lock(mutex_);
    reading_ = false;
    if (ok && end_) return;
    if (ok) {
      message.Swap(&incoming_);
      ++unhandled_;
      ReadLocked();  // the next one arrives while this one is handled
    } else {
      closed_ = true;
      if (unhandled_ > 0) return;
    }
  }
  if (!ok) return Close();
  handler_.OnMessage(id_, message);
}

void StreamToWorker::Close() {
  handler_.OnClosed(id_);
  const std::lock_guard lock(mutex_);
  if (!end_) EndLocked(grpc::Status::OK);
}

void StreamToWorker::OnCompletion(int operation, bool ok) {
  if (operation == kRead) {
    OnRead(ok);
  } else {
    const std::lock_guard lock(mutex_);
    if (operation == kWrite) {
      writing_ = false;
      outgoing_.Clear();
      if (!ok) broken_ = true;
      PumpLocked();
    } else {
      finished_ = true;
    }
  }
  {
    const std::lock_guard lock(mutex_);
    if (!IsDoneLocked()) return;
  }
  if (id_ >= 0) handler_.OnDone(id_);
  on_done_();
  const std::shared_ptr<StreamToWorker> self = std::move(self_);  // until here
}

void StreamToWorker::EndLocked(const grpc::Status& status) {
  end_ = status;
  PumpLocked();
}

// Starts the next write, or ends the stream once nothing is left to be written:
// gRPC takes one write at a time and none after Finish.
void StreamToWorker::PumpLocked() {
  if (writing_ || finishing_) return;
  if (!queue_.empty() && !broken_) {
    outgoing_.Swap(&queue_.front());
    queue_.pop_front();
    writing_ = true;
    call_.Write(outgoing_, write_.tag());
  } else if (end_) {
    queue_.clear();
    finishing_ = true;
    call_.Finish(*end_, finish_.tag());
  }
}

}  // namespace crossover::ps
