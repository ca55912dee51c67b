// What ranks tell each other beside the data, as bytes. Little-endian:
//   magic u32 | kind u16 | text_bytes u16 | text
// Pure, thread-safe.
#ifndef CROSSOVER_NET_CONTROL_MESSAGE_H_
#define CROSSOVER_NET_CONTROL_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "net/endpoint.h"

namespace crossover::net {

enum class ControlKind : uint16_t {
  kNote = 1,       // what the sender is doing
  kLastWords = 2,  // the sender has failed, and why; nothing follows
  kGoodbye = 3,    // the sender has ended in good order; nothing follows, and it has no text
};

struct ControlMessage {
  ControlKind kind = ControlKind::kNote;
  std::string text;
};

inline constexpr size_t kControlHeaderBytes = 8;
inline constexpr size_t kControlMessageBytesMax = kControlHeaderBytes + kLastWordsBytesMax;

// A longer text than Endpoint allows for the kind is cut.
std::string EncodeControlMessage(ControlKind kind, std::string_view text);

// The message at the head of `bytes`, whose size goes to `used`; none while it is not whole.
// Its text is one line, whatever came (net/one_line.h). Errors: another magic, an unknown kind,
// a text that is too long: found as soon as the header is whole.
absl::StatusOr<std::optional<ControlMessage>> DecodeControlMessage(std::span<const std::byte> bytes,
                                                                   size_t& used);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_CONTROL_MESSAGE_H_
