#include "net/grpc_mesh.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "net/refused_call.h"
#include "net/tcp_handshake.h"
#include "net/thread_handover.h"

namespace crossover::net {
namespace {

using Refused = RefusedCall<grpc::ServerGenericBidiReactor>;

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr int64_t kFirstRetryNs = 20'000'000;
constexpr int64_t kLastRetryNs = 500'000'000;
constexpr int64_t kCancelCheckNs = 100'000'000;

class MeshBuilder {
 public:
  MeshBuilder(GrpcHub& hub, const GrpcEndpointOptions& options, const Clock& clock)
      : hub_(hub),
        options_(options),
        clock_(clock),
        rank_(options.identity.rank),
        world_size_(static_cast<int>(options.addresses.size())),
        missing_(world_size_ - 1),
        connected_(options.addresses.size()) {
    for (int peer = rank_ + 1; peer < world_size_; ++peer) {
      outgoing_.push_back(
          {.peer = peer,
           .channel = MakeChannel(options.addresses[peer], options.identity.tls_pem)});
    }
  }

  absl::StatusOr<std::vector<GrpcStream*>> Run() {
    const int64_t deadline_ns =
        clock_.NowNs() + static_cast<int64_t>(options_.connect_s * kNsPerSecond);
    std::unique_lock lock(hub_.gate().mutex);
    hub_.OpenDoor(options_.identity);
    while (true) {
      RETURN_IF_ERROR(Advance());
      if (missing_ == 0) break;
      const int64_t now_ns = clock_.NowNs();
      if (now_ns >= deadline_ns) return MissingError();
      const int64_t wait_ns = std::min(deadline_ns, NextTimerNs(now_ns)) - now_ns;
      hub_.gate().changed.wait_for(lock, std::chrono::nanoseconds(std::max<int64_t>(wait_ns, 0)));
      if (!options_.cancelled) continue;
      lock.unlock();
      RETURN_IF_ERROR(options_.cancelled());
      lock.lock();
    }
    hub_.CloseDoor();
    return std::move(connected_);
  }

 private:
  // A call that we make, to a higher rank.
  struct Outgoing {
    int peer = 0;
    std::shared_ptr<grpc::Channel> channel{};
    GrpcStream* stream = nullptr;  // null: waits for its next try
    int64_t retry_ns = std::numeric_limits<int64_t>::min();
    int64_t retry_interval_ns = kFirstRetryNs;
    std::string last_error = "no answer";
  };

  std::string Name(int peer) const {
    return absl::StrCat("rank ", peer, " at ", options_.addresses[peer]);
  }

  absl::Status MissingError() const {
    std::vector<std::string> parts;
    for (const Outgoing& out : outgoing_) {
      if (connected_[out.peer] != nullptr) continue;
      parts.push_back(absl::StrCat(Name(out.peer), " (", out.last_error, ")"));
    }
    for (int peer = 0; peer < rank_; ++peer) {
      if (connected_[peer] != nullptr) continue;
      parts.push_back(absl::StrCat(Name(peer), " (it has not connected)"));
    }
    return absl::DeadlineExceededError(absl::StrCat("rank ", rank_, " has no connection with ",
                                                    absl::StrJoin(parts, ", "), " after ",
                                                    options_.connect_s, " s"));
  }

  // What follows holds the gate's mutex.

  absl::Status Advance() {
    const int64_t now_ns = clock_.NowNs();
    for (Outgoing& out : outgoing_) {
      if (connected_[out.peer] == nullptr) RETURN_IF_ERROR(Advance(out, now_ns));
    }
    for (GrpcHub::Accepted& accepted : hub_.TakeAccepted()) {
      incoming_.push_back(std::move(accepted));
    }
    std::erase_if(incoming_, [this](const GrpcHub::Accepted& in) { return IsSettled(in); });
    for (int peer = 0; peer < world_size_; ++peer) {
      if (connected_[peer] == nullptr || !connected_[peer]->done()) continue;
      return absl::UnavailableError(
          absl::StrCat(Name(peer), " closed the connection while the others were being made"));
    }
    return absl::OkStatus();
  }

  int64_t NextTimerNs(int64_t now_ns) const {
    int64_t next_ns =
        options_.cancelled ? now_ns + kCancelCheckNs : std::numeric_limits<int64_t>::max();
    for (const Outgoing& out : outgoing_) {
      if (out.stream == nullptr) next_ns = std::min(next_ns, out.retry_ns);
    }
    return next_ns;
  }

  absl::Status Advance(Outgoing& out, int64_t now_ns) {
    if (out.stream == nullptr) {
      if (now_ns < out.retry_ns) return absl::OkStatus();
      out.stream = &hub_.Call(out.channel);
      Greet(*out.stream);
    }
    if (const std::optional<Greeting>& answer = out.stream->link().greeting(); answer.has_value()) {
      RETURN_IF_ERROR(CheckGreeting(options_.identity, world_size_, *answer, Name(out.peer)));
      if (answer->rank != static_cast<uint32_t>(out.peer)) {
        return absl::FailedPreconditionError(
            absl::StrCat("at the address of ", Name(out.peer), " rank ", answer->rank, " answers"));
      }
      Keep(out.peer, *out.stream);
      return absl::OkStatus();
    }
    if (!out.stream->done()) return absl::OkStatus();
    const absl::Status end = out.stream->end();
    hub_.Discard(*std::exchange(out.stream, nullptr));
    out.retry_ns = now_ns + out.retry_interval_ns;
    out.retry_interval_ns = std::min(2 * out.retry_interval_ns, kLastRetryNs);
    out.last_error =
        end.ok() ? "it ended the call during the handshake" : std::string(end.message());
    return IsRefusal(end) ? RefusalError(out.peer, end) : absl::OkStatus();
  }

  // Nobody there yet, not ready yet or gone again: these are tried again.
  static bool IsRefusal(const absl::Status& end) {
    return !end.ok() && !absl::IsUnavailable(end) && !absl::IsCancelled(end);
  }

  absl::Status RefusalError(int peer, const absl::Status& end) const {
    if (absl::IsUnimplemented(end)) {
      return absl::FailedPreconditionError(
          absl::StrCat("somebody answers at the address of ", Name(peer),
                       " who is no rank of a Crossover job: check the address"));
    }
    return absl::PermissionDeniedError(
        absl::StrCat(Name(peer), " refused this rank ", rank_, ": ", end.message()));
  }

  // True when the stream needs no more attention: accepted, refused or gone.
  bool IsSettled(const GrpcHub::Accepted& in) {
    if (in.stream->done()) {
      hub_.Discard(*in.stream);
      return true;
    }
    const std::optional<Greeting>& greeting = in.stream->link().greeting();
    if (!greeting.has_value()) return false;
    if (const absl::Status status = CheckIncoming(in, *greeting); !status.ok()) {
      in.stream->Close(status);
    } else {
      Greet(*in.stream);
      Keep(in.rank, *in.stream);
    }
    return true;
  }

  absl::Status CheckIncoming(const GrpcHub::Accepted& in, const Greeting& greeting) const {
    const std::string who = absl::StrCat("the caller at ", in.from);
    RETURN_IF_ERROR(CheckGreeting(options_.identity, world_size_, greeting, who));
    if (greeting.rank != static_cast<uint32_t>(in.rank)) {
      return absl::InvalidArgumentError(absl::StrCat(
          who, " is rank ", in.rank, " by its call and rank ", greeting.rank, " by its greeting"));
    }
    if (in.rank > rank_) {
      return absl::InvalidArgumentError(absl::StrCat(who, " is rank ", in.rank, ", but rank ",
                                                     rank_, " calls higher ranks by itself"));
    }
    if (connected_[in.rank] != nullptr) {
      return absl::AlreadyExistsError(absl::StrCat("rank ", in.rank, " is connected to rank ",
                                                   rank_, " already; ", who, " is a second one"));
    }
    return absl::OkStatus();
  }

  void Greet(GrpcStream& stream) const {
    stream.link().QueueGreeting(MakeGreeting(options_.identity, world_size_, Channel::kData));
    stream.Pump();
  }

  void Keep(int peer, GrpcStream& stream) {
    connected_[peer] = &stream;
    --missing_;
  }

  GrpcHub& hub_;
  const GrpcEndpointOptions& options_;
  const Clock& clock_;
  const int rank_;
  const int world_size_;
  int missing_;
  std::vector<GrpcStream*> connected_;
  std::vector<Outgoing> outgoing_;
  std::vector<GrpcHub::Accepted> incoming_;  // not greeted yet
};

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcHub>> GrpcHub::Start(const std::string& address,
                                                        const std::string& tls_pem) {
  std::unique_ptr<GrpcHub> hub(new GrpcHub);
  HandOver(hub.get());
  ASSIGN_OR_RETURN(hub->running_,
                   StartServer({address, tls_pem}, [&hub](grpc::ServerBuilder& builder) {
                     builder.RegisterCallbackGenericService(hub.get());
                   }));
  return hub;
}

GrpcHub::~GrpcHub() {
  {
    const std::lock_guard lock(gate_.mutex);
    closed_ = true;
    for (const std::unique_ptr<GrpcStream>& stream : streams_) stream->Close(absl::OkStatus());
  }
  if (running_.server == nullptr) return;
  running_.server->Shutdown(gpr_inf_past(GPR_CLOCK_MONOTONIC));
  std::unique_lock lock(gate_.mutex);
  gate_.changed.wait(lock, [this] {
    return std::all_of(streams_.begin(), streams_.end(),
                       [](const auto& stream) { return stream->done(); });
  });
}

GrpcStream& GrpcHub::Call(const std::shared_ptr<grpc::Channel>& channel) {
  streams_.push_back(CallGrpcPeer(gate_, channel, *ours_));
  return *streams_.back();
}

void GrpcHub::Discard(GrpcStream& stream) {
  std::erase_if(streams_, [&](const auto& owned) { return owned.get() == &stream; });
}

absl::StatusOr<int> GrpcHub::CheckCall(const grpc::GenericCallbackServerContext& context) const {
  if (context.method() != kGrpcPeerMethod) {
    return absl::UnimplementedError(
        absl::StrCat("no method ", context.method(), "; there is ", kGrpcPeerMethod));
  }
  if (!ours_.has_value()) return absl::UnavailableError("it does not connect yet");
  ASSIGN_OR_RETURN(const Identity caller, CallerIdentity(*ours_, context));
  if (caller.role != ours_->role) {
    return absl::PermissionDeniedError(absl::StrCat(
        ProcessName(caller.role, caller.rank), " called; only a ", RoleName(ours_->role), " may"));
  }
  if (closed_) {
    return absl::AlreadyExistsError("it is connected to all ranks already, or has left");
  }
  return caller.rank;
}

grpc::ServerGenericBidiReactor* GrpcHub::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  TakeOver(this);
  const std::lock_guard lock(gate_.mutex);
  const absl::StatusOr<int> rank = CheckCall(*context);
  if (!rank.ok()) return new Refused(rank.status());
  AcceptedGrpcPeer peer = AcceptGrpcPeer(gate_, *context);
  accepted_.push_back({peer.stream.get(), *rank, PeerAddress(*context)});
  streams_.push_back(std::move(peer.stream));
  gate_.changed.notify_all();
  return peer.reactor;
}

absl::StatusOr<std::vector<GrpcStream*>> ConnectGrpcMesh(GrpcHub& hub,
                                                         const GrpcEndpointOptions& options,
                                                         const Clock& clock) {
  return MeshBuilder(hub, options, clock).Run();
}

}  // namespace crossover::net
