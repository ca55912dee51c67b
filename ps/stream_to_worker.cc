#include "ps/stream_to_worker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "net/grpc_setup.h"
#include "net/thread_handover.h"

namespace crossover::ps {

std::shared_ptr<StreamToWorker> StreamToWorker::Start(int worker, StreamHandler& handler) {
  std::shared_ptr<StreamToWorker> stream(new StreamToWorker(worker, handler));
  stream->self_ = stream;
  net::HandOver(stream.get());
  stream->StartRead(&stream->incoming_);
  return stream;
}

absl::Status StreamToWorker::Send(grpc::ByteBuffer message, size_t queued_max) {
  const std::lock_guard lock(mutex_);
  if (end_) return absl::OkStatus();
  if (queue_.size() >= queued_max) {
    absl::Status why = absl::ResourceExhaustedError(absl::StrCat(
        "worker ", worker_, " does not read its replies: ", queued_max, " wait for it"));
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

void StreamToWorker::OnReadDone(bool ok) {
  net::TakeOver(this);
  if (!ok) {
    handler_.OnClosed(worker_);
    const std::lock_guard lock(mutex_);
    if (!end_) EndLocked(grpc::Status::OK);
    return;
  }
  const absl::Status status = handler_.OnMessage(worker_, incoming_);
  incoming_.Clear();
  if (!status.ok()) {
    Fail(status);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (end_) return;
  net::HandOver(this);
  StartRead(&incoming_);
}

void StreamToWorker::OnWriteDone(bool ok) {
  net::TakeOver(this);
  const std::lock_guard lock(mutex_);
  writing_ = false;
  outgoing_.Clear();
  if (!ok) broken_ = true;
  PumpLocked();
}

void StreamToWorker::OnDone() {
  net::TakeOver(this);
  handler_.OnDone(worker_);
  self_.reset();
}

void StreamToWorker::EndLocked(const grpc::Status& status) {
  end_ = status;
  PumpLocked();
}

// Starts the next write, or ends the stream once nothing is left to be written:
// gRPC takes one write at a time and none after Finish.
void StreamToWorker::PumpLocked() {
  if (writing_ || finished_) return;
  if (!queue_.empty() && !broken_) {
    outgoing_.Swap(&queue_.front());
    queue_.pop_front();
    writing_ = true;
    StartWrite(&outgoing_);
  } else if (end_) {
    queue_.clear();
    finished_ = true;
    Finish(*end_);
  }
}

}  // namespace crossover::ps
