// The words with which two ranks open a TCP connection: the connecting side sends
// a greeting, the accepting side checks it and answers with its own, or with a
// refusal. Fixed size, little-endian:
//   magic u32 | version u32 | status u32 | rank u32 | world_size u32 | text_bytes u16 |
//   channel u16 | fingerprint u64 | text[256]
// status is 0 or, in a refusal, an absl::StatusCode; text is the token or, in a
// refusal, the reason (then rank and fingerprint are 0: a stranger learns nothing);
// channel says what the connection is for. In a gRPC stream (net/grpc_link.h), whose metadata
// have been checked before, both sides send the same greeting, and the channel means nothing.
// Pure, thread-safe.
#ifndef CROSSOVER_NET_TCP_HANDSHAKE_H_
#define CROSSOVER_NET_TCP_HANDSHAKE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "net/identity.h"

namespace crossover::net {

inline constexpr uint32_t kHandshakeVersion = 2;
inline constexpr size_t kGreetingTextBytesMax = kTokenCharactersMax;
inline constexpr size_t kGreetingBytes = 32 + kGreetingTextBytesMax;

// A pair of ranks has one connection for each.
enum class Channel : uint16_t { kData = 0, kControl = 1 };
inline constexpr std::array kChannels = {Channel::kData, Channel::kControl};

struct Greeting {
  uint32_t version = kHandshakeVersion;
  uint32_t status = 0;
  uint32_t rank = 0;
  uint32_t world_size = 0;
  Channel channel = Channel::kData;
  uint64_t fingerprint = 0;
  std::string text;  // at most kGreetingTextBytesMax; a longer one is cut
};
using GreetingBytes = std::array<std::byte, kGreetingBytes>;

GreetingBytes EncodeGreeting(const Greeting& greeting);
// Errors: another magic, another version, an unknown channel, a text that is too long.
absl::StatusOr<Greeting> DecodeGreeting(std::span<const std::byte, kGreetingBytes> bytes);

// Whether the first bytes of a connection can be a greeting's; false as soon as
// one byte of the magic differs.
bool MayBeGreeting(std::span<const std::byte> first_bytes);
// What somebody gets who does not speak this protocol: one line of text.
inline constexpr std::string_view kStrangerLine =
    "refused: this port belongs to a Crossover job, and that was no greeting of one\n";

// `ours.token` is of 16 to 256 printable ASCII characters without spaces, and fits.
Greeting MakeGreeting(const Identity& ours, int world_size, Channel channel);
Greeting MakeRefusal(const absl::Status& why);

// What each side asks of the other's greeting: token, job, number of ranks, and a
// rank that exists and is not ours. `who` names the other side in the error.
absl::Status CheckGreeting(const Identity& ours, int world_size, const Greeting& theirs,
                           const std::string& who);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_TCP_HANDSHAKE_H_
