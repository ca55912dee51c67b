// For tests of endpoints and of what uses them: blocking calls, and every endpoint that is made
// within one process by a name. Thread-safe: stateless.
#ifndef CROSSOVER_NET_ENDPOINT_TEST_SUPPORT_H_
#define CROSSOVER_NET_ENDPOINT_TEST_SUPPORT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "net/endpoint.h"

namespace crossover::net {

using Bytes = std::vector<std::byte>;

// Nobody gets there unless something hangs.
inline constexpr int64_t kPatienceNs = 60'000'000'000;

// All of it. Errors: the endpoint's; kDeadlineExceeded when a Wait has passed kPatienceNs.
absl::Status SendAll(Endpoint& endpoint, int peer, std::span<const std::byte> data,
                     SendMode mode = SendMode::kCopy);
absl::Status ReceiveAll(Endpoint& endpoint, int peer, std::span<std::byte> into);
// Both at once; the peers may be one.
absl::Status ExchangeAll(Endpoint& endpoint, int to, std::span<const std::byte> data, int from,
                         std::span<std::byte> into, SendMode mode = SendMode::kCopy);
// Waits for nothing but an error, and returns it.
absl::Status WaitForFailure(Endpoint& endpoint);

// Bytes that differ by seed and place; they repeat after a prime number of them.
Bytes Pattern(size_t size, uint32_t seed);
// Fast under the sanitizers too.
bool SameBytes(std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_ENDPOINT_TEST_SUPPORT_H_
