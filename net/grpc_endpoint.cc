#include "net/grpc_endpoint.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/status.h"
#include "net/address.h"
#include "net/grpc_link.h"
#include "net/grpc_mesh.h"
#include "net/grpc_stream.h"
#include "net/slice_pool.h"

namespace crossover::net {
namespace {

// For the peers to read what was sent last.
constexpr auto kDeliveryWait = std::chrono::seconds(5);
// So that the end of the wait is a time that can be named.
constexpr int64_t kWaitNsMax = 3'600'000'000'000;
// Taken bytes are told to the peer in steps.
constexpr size_t kCreditStepBytes = kGrpcWindowBytes / 4;

class GrpcEndpoint final : public Endpoint {
 public:
  // `streams` by rank, without the own rank's.
  GrpcEndpoint(const GrpcEndpointOptions& options, std::unique_ptr<GrpcHub> hub,
               const std::vector<GrpcStream*>& streams, const Clock& clock)
      : Endpoint(options.identity.rank, static_cast<int>(streams.size()), false),
        hub_(std::move(hub)),
        gate_(hub_->gate()),
        clock_(clock),
        slices_(SlicePool::Make(kGrpcMessageBytesMax,
                                streams.size() * (kGrpcWindowBytes / kCreditStepBytes))),
        peers_(streams.size()) {
    for (size_t i = 0; i < peers_.size(); ++i) {
      peers_[i].name = absl::StrCat("rank ", i, " at ", options.addresses[i]);
      peers_[i].stream = streams[i];
    }
  }
  ~GrpcEndpoint() override;

  absl::StatusOr<size_t> TrySend(int peer, std::span<const std::byte> data, SendMode mode) override;
  absl::StatusOr<size_t> TryReceive(int peer, std::span<std::byte> into) override;
  absl::Status Wait(std::span<const Interest> interests, int64_t timeout_ns) override;
  void Wake() override;
  void Publish(const std::string& note) override;
  void Abort(const absl::Status& why) override;

  void CutConnections();

 private:
  struct Peer {
    std::string name;              // "rank 2 at 10.0.0.2:4000"
    GrpcStream* stream = nullptr;  // the hub's; null for the own rank
    // The caller's thread alone:
    std::deque<grpc::Slice> received;  // taken from the link
    size_t used_bytes = 0;             // of the first
    size_t uncredited_bytes = 0;
  };

  Peer& PeerAt(int index) {
    CROSSOVER_CHECK(index != rank(), "a rank has no connection with itself");
    return peers_[index];
  }
  bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  absl::Status FirstFailure() const;
  static size_t CopyOut(Peer& peer, std::span<std::byte> into);

  // These hold the gate's mutex.
  absl::Status FirstFailureLocked() const;
  // Keeps the first failure, tells the peers, and returns the first.
  absl::Status Fail(const absl::Status& why);
  absl::Status LossOf(const Peer& peer) const;
  absl::Status EndOf(const Peer& peer) const;
  absl::Status LossOfAnyone() const;
  bool TakeNotes();
  bool MayMove(std::span<const Interest> interests) const;
  bool EndHasArrived() const;

  const std::unique_ptr<GrpcHub> hub_;
  GrpcGate& gate_;  // the hub's
  const Clock& clock_;
  const std::shared_ptr<SlicePool> slices_;  // to send
  std::vector<Peer> peers_;                  // by rank
  std::atomic<bool> failed_ = false;
  absl::Status failure_;  // guarded by the gate's mutex; set before failed_
  bool woken_ = false;    // guarded by the gate's mutex
};

GrpcEndpoint::~GrpcEndpoint() {
  std::unique_lock lock(gate_.mutex);
  for (const Peer& peer : peers_) {
    if (peer.stream == nullptr) continue;
    peer.stream->link().QueueEnd(ControlKind::kGoodbye, "");
    peer.stream->Pump();
  }
  gate_.changed.wait_for(lock, kDeliveryWait, [this] { return EndHasArrived(); });
}

bool GrpcEndpoint::EndHasArrived() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
    return peer.stream == nullptr || peer.stream->done() || peer.stream->link().has_left() ||
           peer.stream->link().end_has_arrived();
  });
}

absl::StatusOr<size_t> GrpcEndpoint::TrySend(int index, std::span<const std::byte> data, SendMode) {
  if (has_failed()) return FirstFailure();
  Peer& peer = PeerAt(index);
  GrpcLink& link = peer.stream->link();
  size_t room_bytes = 0;
  {
    const std::lock_guard lock(gate_.mutex);
    if (!failure_.ok()) return FirstFailureLocked();
    if (const absl::Status status = EndOf(peer); !status.ok()) return Fail(status);
    room_bytes = link.room_bytes();
  }
  data = data.first(std::min({data.size(), room_bytes, kGrpcMessageBytesMax}));
  if (data.empty()) return 0;
  const grpc::Slice copy = slices_->Copy(data);
  const std::lock_guard lock(gate_.mutex);
  link.QueueData(copy);
  peer.stream->Pump();
  return data.size();
}

absl::StatusOr<size_t> GrpcEndpoint::TryReceive(int index, std::span<std::byte> into) {
  if (has_failed()) return FirstFailure();
  Peer& peer = PeerAt(index);
  size_t bytes = CopyOut(peer, into);
  if (bytes < into.size()) {
    const std::lock_guard lock(gate_.mutex);
    if (!failure_.ok()) return FirstFailureLocked();
    peer.received = peer.stream->link().TakeData();
    // What was sent before the end still counts.
    if (bytes == 0 && peer.received.empty()) {
      if (const absl::Status status = EndOf(peer); !status.ok()) return Fail(status);
    }
  }
  bytes += CopyOut(peer, into.subspan(bytes));
  peer.uncredited_bytes += bytes;
  if (peer.uncredited_bytes >= kCreditStepBytes) {
    const std::lock_guard lock(gate_.mutex);
    peer.stream->link().QueueCredit(std::exchange(peer.uncredited_bytes, 0));
    peer.stream->Pump();
  }
  return bytes;
}

size_t GrpcEndpoint::CopyOut(Peer& peer, std::span<std::byte> into) {
  size_t copied_bytes = 0;
  while (copied_bytes < into.size() && !peer.received.empty()) {
    const grpc::Slice& slice = peer.received.front();
    const size_t part = std::min(into.size() - copied_bytes, slice.size() - peer.used_bytes);
    std::memcpy(into.data() + copied_bytes, slice.begin() + peer.used_bytes, part);
    copied_bytes += part;
    peer.used_bytes += part;
    if (peer.used_bytes < slice.size()) break;
    peer.received.pop_front();
    peer.used_bytes = 0;
  }
  return copied_bytes;
}

absl::Status GrpcEndpoint::Wait(std::span<const Interest> interests, int64_t timeout_ns) {
  std::unique_lock lock(gate_.mutex);
  const std::chrono::nanoseconds timeout(std::clamp<int64_t>(timeout_ns, 0, kWaitNsMax));
  absl::Status status;
  const auto has_something = [&] {
    status = failure_.ok() ? LossOfAnyone() : FirstFailureLocked();
    // Each is asked, since each takes something in.
    const bool noted = TakeNotes();
    const bool woken = std::exchange(woken_, false);
    return noted || woken || !status.ok() || MayMove(interests);
  };
  if (!has_something() && timeout_ns > 0) gate_.changed.wait_for(lock, timeout, has_something);
  return status.ok() || !failure_.ok() ? FirstFailureLocked() : Fail(status);
}

void GrpcEndpoint::Wake() {
  const std::lock_guard lock(gate_.mutex);
  woken_ = true;
  gate_.changed.notify_all();
}

void GrpcEndpoint::Publish(const std::string& note) {
  const std::lock_guard lock(gate_.mutex);
  for (const Peer& peer : peers_) {
    if (peer.stream == nullptr) continue;
    peer.stream->link().QueueNote(note);
    peer.stream->Pump();
  }
}

void GrpcEndpoint::Abort(const absl::Status& why) {
  CROSSOVER_CHECK(!why.ok(), "an abort has a reason");
  const std::lock_guard lock(gate_.mutex);
  Fail(why).IgnoreError();
  gate_.changed.notify_all();
}

void GrpcEndpoint::CutConnections() {
  const std::lock_guard lock(gate_.mutex);
  for (const Peer& peer : peers_) {
    if (peer.stream != nullptr) peer.stream->Cut();
  }
}

absl::Status GrpcEndpoint::LossOf(const Peer& peer) const {
  const GrpcLink& link = peer.stream->link();
  if (link.last_words().has_value()) return absl::AbortedError(*link.last_words());
  if (!peer.stream->done() || link.has_left()) return absl::OkStatus();
  const absl::Status& end = peer.stream->end();
  if (absl::IsDataLoss(end)) return Annotate(end, absl::StrCat(peer.name, ": "));
  const std::string detail = end.ok() ? "" : absl::StrCat(" (", end.message(), ")");
  return absl::UnavailableError(absl::StrCat(peer.name, " closed the connection", detail));
}

absl::Status GrpcEndpoint::EndOf(const Peer& peer) const {
  if (!peer.stream->link().has_left()) return LossOf(peer);
  return absl::UnavailableError(
      absl::StrCat(peer.name, " has left: it ended its part in good order, but rank ", rank(),
                   " was not done with it: do all ranks take part in the same operations?"));
}

absl::Status GrpcEndpoint::LossOfAnyone() const {
  for (const Peer& peer : peers_) {
    if (peer.stream == nullptr) continue;
    if (absl::Status status = LossOf(peer); !status.ok()) return status;
  }
  return absl::OkStatus();
}

bool GrpcEndpoint::TakeNotes() {
  bool any = false;
  for (int index = 0; index < world_size(); ++index) {
    if (peers_[index].stream == nullptr) continue;
    std::optional<std::string> note = peers_[index].stream->link().TakeNote();
    if (!note.has_value()) continue;
    KeepNote(index, {*std::move(note), clock_.NowNs()});
    any = true;
  }
  return any;
}

bool GrpcEndpoint::MayMove(std::span<const Interest> interests) const {
  return std::any_of(interests.begin(), interests.end(), [&](const Interest& interest) {
    const Peer& peer = peers_[interest.peer];
    const GrpcLink& link = peer.stream->link();
    return link.has_left() || (interest.send && link.room_bytes() > 0) ||
           (interest.receive && (link.has_data() || !peer.received.empty()));
  });
}

absl::Status GrpcEndpoint::FirstFailure() const {
  const std::lock_guard lock(gate_.mutex);
  return FirstFailureLocked();
}

// A copy that shares nothing with another thread's: Abseil counts references where TSan
// cannot see it.
absl::Status GrpcEndpoint::FirstFailureLocked() const {
  return absl::Status(failure_.code(), failure_.message());
}

absl::Status GrpcEndpoint::Fail(const absl::Status& why) {
  if (failure_.ok()) {
    failure_ = absl::Status(why.code(), why.message());
    failed_.store(true, std::memory_order_release);
    const std::string words = LastWords(rank(), failure_);
    for (const Peer& peer : peers_) {
      if (peer.stream == nullptr) continue;
      peer.stream->link().QueueEnd(ControlKind::kLastWords, words);
      peer.stream->Pump();
    }
  }
  return FirstFailureLocked();
}

absl::Status CheckOptions(const GrpcEndpointOptions& options) {
  const int world_size = static_cast<int>(options.addresses.size());
  if (options.identity.rank < 0 || options.identity.rank >= world_size) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", options.identity.rank, " of ",
                                                   world_size, " addresses: expected 0 to ",
                                                   world_size - 1));
  }
  if (!(options.connect_s > 0)) return absl::InvalidArgumentError("connect_s must be positive");
  return absl::OkStatus();
}

}  // namespace

GrpcListener::GrpcListener(std::unique_ptr<GrpcHub> hub) : hub_(std::move(hub)) {}
GrpcListener::~GrpcListener() = default;
const std::string& GrpcListener::address() const { return hub_->address(); }

absl::StatusOr<std::unique_ptr<GrpcListener>> GrpcListener::Listen(const std::string& host,
                                                                   int port,
                                                                   const std::string& tls_pem) {
  ASSIGN_OR_RETURN(std::unique_ptr<GrpcHub> hub,
                   GrpcHub::Start(FormatHostPort({host, port}), tls_pem));
  return std::unique_ptr<GrpcListener>(new GrpcListener(std::move(hub)));
}

absl::StatusOr<std::unique_ptr<Endpoint>> ConnectGrpc(std::unique_ptr<GrpcListener> listener,
                                                      const GrpcEndpointOptions& options,
                                                      const Clock& clock) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(const std::vector<GrpcStream*> streams,
                   ConnectGrpcMesh(*listener->hub_, options, clock));
  return std::make_unique<GrpcEndpoint>(options, std::move(listener->hub_), streams, clock);
}

void CutGrpcConnections(Endpoint& endpoint) {
  static_cast<GrpcEndpoint&>(endpoint).CutConnections();
}

}  // namespace crossover::net
