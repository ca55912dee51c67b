#include "net/join_stream.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "net/grpc_setup.h"
#include "net/thread_handover.h"

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
  {
    std::lock_guard lock(mutex_);
    CROSSOVER_CHECK(!started_, "a stream is started once");
    started_ = true;
    holding_ = true;
  }
  HandOver(this);
  stub_->async()->Join(&context_, this);
  AddHold();
  StartRead(&incoming_);
  StartCall();
}

JoinStream::~JoinStream() {
  std::unique_lock lock(mutex_);
  if (!started_) return;
  lock.unlock();
  context_.TryCancel();
  lock.lock();
  // After a cancel gRPC fails the read under way, which leads to OnDone.
  done_changed_.wait(lock, [this] { return done_; });
}

bool JoinStream::Send(proto::MemberMessage message) {
  {
    std::lock_guard lock(mutex_);
    CROSSOVER_CHECK(started_, "Start comes before Send");
    if (closed_) return false;
    const auto waiting_ping =
        std::find_if(queue_.begin(), queue_.end(),
                     [](const proto::MemberMessage& queued) { return queued.has_ping(); });
    if (message.has_ping() && waiting_ping != queue_.end()) {
      *waiting_ping = std::move(message);
      return true;
    }
    if (writing_) {
      if (queue_.size() >= kMaxQueuedMessages) return false;
      queue_.push_back(std::move(message));
      return true;
    }
    outgoing_ = std::move(message);
    writing_ = true;
  }
  StartWrite(&outgoing_);
  return true;
}

void JoinStream::Cancel() { context_.TryCancel(); }

bool JoinStream::TakeHold() {
  const bool take = holding_ && closed_ && !writing_;
  if (take) holding_ = false;
  return take;
}

void JoinStream::OnReadDone(bool ok) {
  TakeOver(this);
  if (ok) {
    handlers_.on_message(incoming_);
    StartRead(&incoming_);
    return;
  }
  bool remove_hold = false;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    remove_hold = TakeHold();
  }
  if (remove_hold) RemoveHold();
}

void JoinStream::OnWriteDone(bool ok) {
  TakeOver(this);
  bool write_on = false;
  bool remove_hold = false;
  {
    std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) queue_.clear();  // the read under way will say that it broke
    if (!closed_ && !queue_.empty()) {
      outgoing_ = std::move(queue_.front());
      queue_.pop_front();
      writing_ = write_on = true;
    }
    remove_hold = TakeHold();
  }
  if (write_on) StartWrite(&outgoing_);
  if (remove_hold) RemoveHold();
}

void JoinStream::OnDone(const grpc::Status& status) {
  TakeOver(this);
  handlers_.on_end(FromGrpc(status));
  // Under the mutex, so that the destructor cannot be over before the notification is.
  std::lock_guard lock(mutex_);
  done_ = true;
  done_changed_.notify_all();
}

}  // namespace crossover::net
