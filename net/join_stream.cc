#include "net/join_stream.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "net/grpc_setup.h"

namespace crossover::net {
namespace {

// A member has at most a hello, a ping, a barrier, a failure and a leave to say.
constexpr size_t kMaxQueuedMessages = 16;

}  // namespace

JoinStream::JoinStream(const std::shared_ptr<grpc::Channel>& channel, const Identity& identity,
                       Handlers handlers)
    : stub_(proto::Rendezvous::NewStub(channel)), handlers_(std::move(handlers)) {
  SetCallIdentity(identity, context_);
}

void JoinStream::Start() {
  CROSSOVER_CHECK(completions_ == nullptr, "a stream is started once");
  completions_ = std::make_unique<grpc::CompletionQueue>();
  writing_ = true;
  call_ = stub_->AsyncJoin(&context_, completions_.get(), &begun_);
  thread_ = std::thread([this] { Loop(); });
}

JoinStream::~JoinStream() {
  if (!thread_.joinable()) return;
  // After a cancel gRPC fails what is under way, which leads to the end.
  context_.TryCancel();
  thread_.join();
}

bool JoinStream::Send(proto::MemberMessage message) {
  const std::lock_guard lock(mutex_);
  CROSSOVER_CHECK(call_ != nullptr, "Start comes before Send");
  if (closed_) return false;
  const auto waiting_ping =
      std::find_if(queue_.begin(), queue_.end(),
                   [](const proto::MemberMessage& queued) { return queued.has_ping(); });
  if (message.has_ping() && waiting_ping != queue_.end()) {
    *waiting_ping = std::move(message);
    return true;
  }
  if (queue_.size() >= kMaxQueuedMessages) return false;
  queue_.push_back(std::move(message));
  PumpLocked();
  return true;
}

void JoinStream::Cancel() { context_.TryCancel(); }

void JoinStream::Loop() {
  void* tag = nullptr;
  bool ok = false;
  while (completions_->Next(&tag, &ok)) {
    switch (*static_cast<const Event*>(tag)) {
      case Event::kBegun:
        call_->Read(&incoming_, &read_);  // fails where the call has failed
        OnWritten(ok);
        break;
      case Event::kRead:
        OnRead(ok);
        break;
      case Event::kWritten:
        OnWritten(ok);
        break;
      case Event::kEnded:
        handlers_.on_end(FromGrpc(end_));
        completions_->Shutdown();
        break;
    }
  }
}

void JoinStream::OnRead(bool ok) {
  if (ok) {
    handlers_.on_message(incoming_);
    call_->Read(&incoming_, &read_);
    return;
  }
  const std::lock_guard lock(mutex_);
  closed_ = true;
  queue_.clear();
  PumpLocked();
}

void JoinStream::OnWritten(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  if (!ok) queue_.clear();  // the read under way will say that it broke
  PumpLocked();
}

// Starts the next write, or asks for the end once neither a read nor a write is under way.
void JoinStream::PumpLocked() {
  if (writing_) return;
  if (closed_) {
    call_->Finish(&end_, &ended_);
  } else if (!queue_.empty()) {
    writing_ = true;
    call_->Write(queue_.front(), &written_);  // which copies it
    queue_.pop_front();
  }
}

}  // namespace crossover::net
