#include "net/inproc_endpoint.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/check.h"
#include "core/status.h"
#include "net/message.h"

namespace crossover::net {
namespace {

// Messages that a queue holds; a sender waits while it is full.
constexpr size_t kQueueMessagesMax = 2;

struct Message {
  MessageHeader header;
  std::vector<std::byte> data;
};

// What the endpoints share; everything is guarded by the mutex.
struct Hub {
  explicit Hub(int world_size) : queues(size_t(world_size) * world_size), ends(world_size) {}

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::deque<Message>> queues;  // [from * world_size + to]
  // How a rank ended: "" while it lives, its farewell, or kClosed.
  std::vector<std::string> ends;
};
constexpr char kClosed[] = "closed";

class InprocEndpoint final : public Endpoint {
 public:
  InprocEndpoint(std::shared_ptr<Hub> hub, int rank, int world_size, double silence_s,
                 const Clock& clock)
      : hub_(std::move(hub)),
        rank_(rank),
        world_size_(world_size),
        silence_s_(silence_s),
        clock_(clock) {}

  ~InprocEndpoint() override {
    const std::lock_guard lock(hub_->mutex);
    End(kClosed);
  }

  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }

  absl::Status Exchange(const MessageTag& tag, std::span<const SendOp> sends,
                        std::span<const ReceiveOp> receives) override {
    CheckExchangeArguments(rank_, world_size_, sends, receives);
    std::unique_lock lock(hub_->mutex);
    std::vector<SendOp> to_send(sends.begin(), sends.end());
    std::vector<ReceiveOp> to_receive(receives.begin(), receives.end());
    int64_t deadline_ns = DeadlineNs();
    while (true) {
      RETURN_IF_ERROR(failure_);
      const size_t before = to_send.size() + to_receive.size();
      absl::Status status;
      std::erase_if(to_send,
                    [&](const SendOp& op) { return status.ok() && Send(tag, op, status); });
      std::erase_if(to_receive,
                    [&](const ReceiveOp& op) { return status.ok() && Receive(tag, op, status); });
      if (absl::IsAborted(status)) return Fail(status, std::string(status.message()));  // heard
      if (!status.ok()) return Fail(status);
      if (to_send.empty() && to_receive.empty()) return absl::OkStatus();
      if (to_send.size() + to_receive.size() < before) deadline_ns = DeadlineNs();
      const int64_t left_ns = deadline_ns - clock_.NowNs();
      if (left_ns <= 0) return Fail(SilenceError(to_send, to_receive));
      hub_->changed.wait_for(lock, std::chrono::nanoseconds(left_ns));
    }
  }

  void Abort(const absl::Status& why) override {
    CROSSOVER_CHECK(!why.ok(), "an abort has a reason");
    const std::lock_guard lock(hub_->mutex);
    // A copy that shares nothing with the caller's: Abseil counts references where TSan
    // cannot see it.
    if (failure_.ok()) Fail(absl::Status(why.code(), why.message())).IgnoreError();
  }

 private:
  int64_t DeadlineNs() const { return clock_.NowNs() + static_cast<int64_t>(silence_s_ * 1e9); }

  std::deque<Message>& Queue(int from, int to) const {
    return hub_->queues[from * world_size_ + to];
  }

  // Both return whether the message has moved. They hold the mutex.
  bool Send(const MessageTag& tag, const SendOp& op, absl::Status& status) {
    status = PeerStatus(op.peer);
    std::deque<Message>& queue = Queue(rank_, op.peer);
    if (!status.ok() || queue.size() >= kQueueMessagesMax) return false;
    const MessageHeader header{.farewell = false, .tag = tag, .bytes = op.data.size()};
    queue.push_back({header, std::vector<std::byte>(op.data.begin(), op.data.end())});
    hub_->changed.notify_all();
    return true;
  }

  bool Receive(const MessageTag& tag, const ReceiveOp& op, absl::Status& status) {
    std::deque<Message>& queue = Queue(op.peer, rank_);
    if (queue.empty()) {
      status = PeerStatus(op.peer);  // what was sent before the end still counts
      return false;
    }
    const Message& message = queue.front();
    status = CheckMessage(op.peer, rank_, message.header, tag, op.into.size());
    if (!status.ok()) return false;
    if (!op.into.empty()) std::memcpy(op.into.data(), message.data.data(), op.into.size());
    queue.pop_front();
    hub_->changed.notify_all();
    return true;
  }

  absl::Status PeerStatus(int peer) const {
    const std::string& end = hub_->ends[peer];
    if (end.empty()) return absl::OkStatus();
    if (end == kClosed) {
      return absl::UnavailableError(absl::StrCat("rank ", peer, " closed the connection"));
    }
    return absl::AbortedError(end);
  }

  absl::Status SilenceError(std::span<const SendOp> sends,
                            std::span<const ReceiveOp> receives) const {
    std::set<int> peers;
    for (const SendOp& op : sends) peers.insert(op.peer);
    for (const ReceiveOp& op : receives) peers.insert(op.peer);
    return absl::DeadlineExceededError(absl::StrCat(
        "no bytes to or from rank ", absl::StrJoin(peers, ", rank "), " for ", silence_s_, " s"));
  }

  absl::Status Fail(const absl::Status& status, std::string farewell) {
    failure_ = status;
    End(std::move(farewell));
    return failure_;
  }
  absl::Status Fail(const absl::Status& status) {
    return Fail(status, FarewellText(rank_, status.message()));
  }

  void End(std::string how) {
    std::string& end = hub_->ends[rank_];
    if (end.empty()) end = std::move(how);
    hub_->changed.notify_all();
  }

  const std::shared_ptr<Hub> hub_;
  const int rank_;
  const int world_size_;
  const double silence_s_;
  const Clock& clock_;
  absl::Status failure_;  // guarded by the hub's mutex
};

}  // namespace

std::vector<std::unique_ptr<Endpoint>> MakeInprocEndpoints(int world_size, double silence_s,
                                                           const Clock& clock) {
  CROSSOVER_CHECK(world_size > 0, "a world has a rank");
  const auto hub = std::make_shared<Hub>(world_size);
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (int rank = 0; rank < world_size; ++rank) {
    endpoints.push_back(std::make_unique<InprocEndpoint>(hub, rank, world_size, silence_s, clock));
  }
  return endpoints;
}

}  // namespace crossover::net
