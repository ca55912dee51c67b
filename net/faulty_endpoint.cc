#include "net/faulty_endpoint.h"

#include <utility>

#include "core/check.h"
#include "core/status.h"

namespace crossover::net {

FaultyEndpoint::FaultyEndpoint(Endpoint& inner, FaultPlan plan, Clock& clock)
    : Endpoint(inner.rank(), inner.world_size(), inner.borrows()),
      inner_(inner),
      plan_(std::move(plan)),
      clock_(clock) {
  CROSSOVER_CHECK(!plan_.die_at.has_value() || plan_.die != nullptr, "a death has a way");
}

absl::Status FaultyEndpoint::Strike() {
  if (plan_.delay_at == moves_ && !std::exchange(delayed_, true)) clock_.SleepNs(plan_.delay_ns);
  if (plan_.fail_at == moves_ && !std::exchange(struck_, true)) inner_.Abort(plan_.failure);
  if (plan_.die_at == moves_ && !std::exchange(struck_, true)) {
    plan_.die(inner_);
    dead_ = true;
  }
  return dead_ ? absl::UnavailableError("injected death") : absl::OkStatus();
}

absl::StatusOr<size_t> FaultyEndpoint::Count(absl::StatusOr<size_t> moved) {
  if (moved.ok() && *moved > 0) ++moves_;
  return moved;
}

absl::StatusOr<size_t> FaultyEndpoint::TrySend(int peer, std::span<const std::byte> data,
                                               SendMode mode) {
  RETURN_IF_ERROR(Strike());
  return Count(inner_.TrySend(peer, data, mode));
}

absl::StatusOr<size_t> FaultyEndpoint::TryReceive(int peer, std::span<std::byte> into) {
  RETURN_IF_ERROR(Strike());
  return Count(inner_.TryReceive(peer, into));
}

absl::Status FaultyEndpoint::Wait(std::span<const Interest> interests, int64_t timeout_ns) {
  if (dead_) return absl::UnavailableError("injected death");
  absl::Status status = inner_.Wait(interests, timeout_ns);
  for (int peer = 0; peer < world_size(); ++peer) KeepNote(peer, inner_.NoteOf(peer));
  return status;
}

void FaultyEndpoint::Publish(const std::string& note) {
  if (!dead_) inner_.Publish(note);
}

void FaultyEndpoint::Abort(const absl::Status& why) {
  if (!dead_) inner_.Abort(why);
}

}  // namespace crossover::net
