#include "net/inproc_endpoint.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/check.h"

namespace crossover::net {
namespace {

// So that the end of the wait is a time that can be named.
constexpr int64_t kWaitNsMax = 3'600'000'000'000;

// Bytes on their way, copied or still in the sender's buffer.
class ByteQueue {
 public:
  size_t bytes() const { return bytes_; }

  void Push(std::span<const std::byte> data, bool borrow) {
    Piece piece;
    if (!borrow) piece.copied.assign(data.begin(), data.end());
    piece.rest = borrow ? data : piece.copied;
    pieces_.push_back(std::move(piece));  // moving a vector leaves its bytes where they are
    bytes_ += data.size();
  }

  // At most bytes().
  void Pop(std::span<std::byte> into) {
    bytes_ -= into.size();
    while (!into.empty()) {
      std::span<const std::byte>& from = pieces_.front().rest;
      const size_t part = std::min(into.size(), from.size());
      std::memcpy(into.data(), from.data(), part);
      into = into.subspan(part);
      from = from.subspan(part);
      if (from.empty()) pieces_.pop_front();
    }
  }

  // The sender's buffer is about to go.
  void CopyBorrowed() {
    for (Piece& piece : pieces_) {
      if (!piece.copied.empty()) continue;
      piece.copied.assign(piece.rest.begin(), piece.rest.end());
      piece.rest = piece.copied;
    }
  }

 private:
  struct Piece {
    std::vector<std::byte> copied;  // empty if borrowed
    std::span<const std::byte> rest;
  };
  std::deque<Piece> pieces_;
  size_t bytes_ = 0;
};

struct Member {
  explicit Member(int world_size) : heard(world_size) {}
  std::condition_variable changed;
  bool woken = false;
  std::vector<std::optional<PeerNote>> heard;  // notes that Wait has not taken in, by rank
  enum class End { kNone, kLeft, kCut, kGaveUp };
  End end = End::kNone;
  std::string last_words;
};

// What the endpoints share; everything is guarded by the mutex.
struct Hub {
  explicit Hub(int world_size) : queues(size_t(world_size) * world_size) {
    for (int rank = 0; rank < world_size; ++rank) members.emplace_back(world_size);
  }
  std::mutex mutex;
  std::vector<ByteQueue> queues;  // [from * world_size + to]
  std::deque<Member> members;     // by rank
};

class InprocEndpoint final : public Endpoint {
 public:
  InprocEndpoint(std::shared_ptr<Hub> hub, int rank, const Clock& clock,
                 const InprocOptions& options)
      : Endpoint(rank, static_cast<int>(hub->members.size()), options.borrow),
        hub_(std::move(hub)),
        clock_(clock),
        queue_bytes_(options.queue_bytes) {
    if (options.short_moves_seed.has_value()) {
      random_.emplace(*options.short_moves_seed + static_cast<uint64_t>(rank));
    }
  }

  ~InprocEndpoint() override { Leave(Member::End::kLeft); }

  absl::StatusOr<size_t> TrySend(int peer, std::span<const std::byte> data,
                                 SendMode mode) override {
    const std::lock_guard lock(hub_->mutex);
    if (!failure_.ok()) return FirstFailure();
    if (const absl::Status status = EndOf(peer); !status.ok()) return Fail(status);
    ByteQueue& queue = QueueTo(peer);
    const size_t bytes = ChooseMove(std::min(data.size(), queue_bytes_ - queue.bytes()));
    if (bytes == 0) return 0;
    queue.Push(data.first(bytes), mode == SendMode::kBorrow && borrows());
    hub_->members[peer].changed.notify_all();
    return bytes;
  }

  absl::StatusOr<size_t> TryReceive(int peer, std::span<std::byte> into) override {
    const std::lock_guard lock(hub_->mutex);
    if (!failure_.ok()) return FirstFailure();
    ByteQueue& queue = QueueFrom(peer);
    const size_t bytes = ChooseMove(std::min(into.size(), queue.bytes()));
    if (bytes == 0) {  // what was sent before the end still counts
      const absl::Status status = into.empty() ? absl::OkStatus() : EndOf(peer);
      if (!status.ok()) return Fail(status);
      return 0;
    }
    queue.Pop(into.first(bytes));
    hub_->members[peer].changed.notify_all();
    return bytes;
  }

  absl::Status Wait(std::span<const Interest> interests, int64_t timeout_ns) override {
    std::unique_lock lock(hub_->mutex);
    const std::chrono::nanoseconds timeout(std::clamp<int64_t>(timeout_ns, 0, kWaitNsMax));
    absl::Status status;
    self().changed.wait_for(lock, timeout, [&] {
      status = failure_.ok() ? LossOfAnyone() : FirstFailure();
      // Each is asked, since each takes something in.
      const bool noted = TakeNotes();
      const bool woken = std::exchange(self().woken, false);
      return noted || woken || !status.ok() || MayMove(interests);
    });
    return status.ok() || !failure_.ok() ? FirstFailure() : Fail(status);
  }

  void Wake() override {
    const std::lock_guard lock(hub_->mutex);
    self().woken = true;
    self().changed.notify_all();
  }

  void Publish(const std::string& note) override {
    const std::lock_guard lock(hub_->mutex);
    if (!failure_.ok()) return;
    for (Member& member : hub_->members) {
      if (&member == &self()) continue;
      member.heard[rank()] = PeerNote{note.substr(0, kNoteBytesMax), clock_.NowNs()};
      member.changed.notify_all();
    }
  }

  void Abort(const absl::Status& why) override {
    CROSSOVER_CHECK(!why.ok(), "an abort has a reason");
    const std::lock_guard lock(hub_->mutex);
    Fail(why).IgnoreError();
  }

  void Leave(Member::End how) {
    const std::lock_guard lock(hub_->mutex);
    EndSelf(how);
  }

 private:
  // All of these hold the mutex.

  Member& self() const { return hub_->members[rank()]; }
  ByteQueue& QueueTo(int peer) const { return hub_->queues[rank() * world_size() + peer]; }
  ByteQueue& QueueFrom(int peer) const { return hub_->queues[peer * world_size() + rank()]; }

  size_t ChooseMove(size_t possible) {
    if (possible == 0 || !random_.has_value()) return possible;
    return std::uniform_int_distribution<size_t>(1, possible)(*random_);
  }

  absl::Status EndOf(int peer) const {
    const Member& member = hub_->members[peer];
    if (member.end != Member::End::kLeft) return LossOf(peer);
    return absl::UnavailableError(
        absl::StrCat("rank ", peer, " has left: it ended its part in good order, but rank ", rank(),
                     " was not done with it: do all ranks take part in the same operations?"));
  }

  absl::Status LossOf(int peer) const {
    const Member& member = hub_->members[peer];
    if (member.end == Member::End::kGaveUp) return absl::AbortedError(member.last_words);
    if (member.end != Member::End::kCut) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("rank ", peer, " closed the connection"));
  }

  absl::Status LossOfAnyone() const {
    for (int peer = 0; peer < world_size(); ++peer) {
      if (peer == rank()) continue;
      if (absl::Status status = LossOf(peer); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  bool TakeNotes() {
    bool any = false;
    for (int peer = 0; peer < world_size(); ++peer) {
      std::optional<PeerNote> note = std::exchange(self().heard[peer], std::nullopt);
      if (!note.has_value()) continue;
      KeepNote(peer, *std::move(note));
      any = true;
    }
    return any;
  }

  bool MayMove(std::span<const Interest> interests) const {
    return std::any_of(interests.begin(), interests.end(), [&](const Interest& interest) {
      return hub_->members[interest.peer].end != Member::End::kNone ||
             (interest.send && QueueTo(interest.peer).bytes() < queue_bytes_) ||
             (interest.receive && QueueFrom(interest.peer).bytes() > 0);
    });
  }

  // Copies that share nothing between threads: Abseil counts references where TSan cannot see it.
  absl::Status FirstFailure() const { return absl::Status(failure_.code(), failure_.message()); }
  absl::Status Fail(const absl::Status& why) {
    if (failure_.ok()) {
      failure_ = absl::Status(why.code(), why.message());
      self().last_words = LastWords(rank(), failure_);
      EndSelf(Member::End::kGaveUp);
    }
    return FirstFailure();
  }

  void EndSelf(Member::End how) {
    if (self().end != Member::End::kNone) return;
    self().end = how;
    for (int peer = 0; peer < world_size(); ++peer) QueueTo(peer).CopyBorrowed();
    for (Member& member : hub_->members) member.changed.notify_all();
  }

  const std::shared_ptr<Hub> hub_;
  const Clock& clock_;
  const size_t queue_bytes_;
  std::optional<std::mt19937_64> random_;  // guarded by the hub's mutex, as failure_ is
  absl::Status failure_;
};

}  // namespace

std::vector<std::unique_ptr<Endpoint>> MakeInprocEndpoints(int world_size, const Clock& clock,
                                                           const InprocOptions& options) {
  CROSSOVER_CHECK(world_size > 0, "a world has a rank");
  CROSSOVER_CHECK(options.queue_bytes > 0, "a queue has room");
  const auto hub = std::make_shared<Hub>(world_size);
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (int rank = 0; rank < world_size; ++rank) {
    endpoints.push_back(std::make_unique<InprocEndpoint>(hub, rank, clock, options));
  }
  return endpoints;
}

void CutInprocConnections(Endpoint& endpoint) {
  static_cast<InprocEndpoint&>(endpoint).Leave(Member::End::kCut);
}

}  // namespace crossover::net
