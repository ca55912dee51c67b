#include "net/endpoint_test_support.h"

#include <algorithm>
#include <cstring>

#include "core/clock.h"
#include "core/status.h"

namespace crossover::net {
namespace {

absl::Status Wait(Endpoint& endpoint, std::span<const Interest> interests) {
  const SystemClock clock;
  const int64_t begin_ns = clock.NowNs();
  RETURN_IF_ERROR(endpoint.Wait(interests, kPatienceNs));
  if (clock.NowNs() - begin_ns < kPatienceNs) return absl::OkStatus();
  return absl::DeadlineExceededError("the test hangs");
}

}  // namespace

absl::Status SendAll(Endpoint& endpoint, int peer, std::span<const std::byte> data, SendMode mode) {
  return ExchangeAll(endpoint, peer, data, peer, {}, mode);
}

absl::Status ReceiveAll(Endpoint& endpoint, int peer, std::span<std::byte> into) {
  return ExchangeAll(endpoint, peer, {}, peer, into);
}

absl::Status ExchangeAll(Endpoint& endpoint, int to, std::span<const std::byte> data, int from,
                         std::span<std::byte> into, SendMode mode) {
  while (true) {
    size_t moved = 0;
    if (!data.empty()) {
      ASSIGN_OR_RETURN(const size_t sent, endpoint.TrySend(to, data, mode));
      data = data.subspan(sent);
      moved += sent;
    }
    if (!into.empty()) {
      ASSIGN_OR_RETURN(const size_t received, endpoint.TryReceive(from, into));
      into = into.subspan(received);
      moved += received;
    }
    if (data.empty() && into.empty()) return absl::OkStatus();
    if (moved > 0) continue;
    std::vector<Interest> interests;
    if (to == from) {
      interests.push_back({.peer = to, .send = !data.empty(), .receive = !into.empty()});
    } else {
      if (!data.empty()) interests.push_back({.peer = to, .send = true});
      if (!into.empty()) interests.push_back({.peer = from, .receive = true});
    }
    RETURN_IF_ERROR(Wait(endpoint, interests));
  }
}

absl::Status WaitForFailure(Endpoint& endpoint) {
  while (true) RETURN_IF_ERROR(Wait(endpoint, {}));
}

Bytes Pattern(size_t size, uint32_t seed) {
  constexpr size_t kPeriod = 65'521;
  Bytes bytes(size);
  uint32_t state = seed * 2654435761u + 1;
  for (size_t i = 0; i < std::min(size, kPeriod); ++i) {
    state = state * 1664525u + 1013904223u;
    bytes[i] = static_cast<std::byte>(state >> 24);
  }
  for (size_t done = kPeriod; done < size;) {
    const size_t part = std::min(done, size - done);
    std::memcpy(bytes.data() + done, bytes.data(), part);
    done += part;
  }
  return bytes;
}

bool SameBytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace crossover::net
