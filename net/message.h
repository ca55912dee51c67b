// The frame of every message between ranks, and what a receiver refuses. 32 bytes,
// little-endian, before the payload:
//   magic u32 | operation u32 | sequence u64 | bytes u64 | total_bytes u64
// A second magic marks a farewell: a rank that gives up sends it with the reason as
// text in place of a payload. Pure, thread-safe.
#ifndef CROSSOVER_NET_MESSAGE_H_
#define CROSSOVER_NET_MESSAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "net/endpoint.h"

namespace crossover::net {

inline constexpr size_t kMessageHeaderBytes = 32;
inline constexpr size_t kFarewellBytesMax = 1024;

struct MessageHeader {
  bool farewell = false;
  MessageTag tag;      // zeros in a farewell
  uint64_t bytes = 0;  // that follow
};
using MessageHeaderBytes = std::array<std::byte, kMessageHeaderBytes>;

MessageHeaderBytes EncodeMessageHeader(const MessageHeader& header);
// Errors: unknown magic, a farewell that is too long.
absl::StatusOr<MessageHeader> DecodeMessageHeader(
    std::span<const std::byte, kMessageHeaderBytes> bytes);

// Whether a message from `peer` is the one that `rank` waits for. The error shows
// both sides: "rank 1 sent 4000 bytes (of 8000) of operation 0x3 sequence 17; this rank 0
// expected 4096 bytes (of 8192) of operation 0x3 sequence 17".
absl::Status CheckMessage(int peer, int rank, const MessageHeader& got, const MessageTag& expected,
                          uint64_t expected_bytes);

// "rank 1 gave up: WHY", cut to kFarewellBytesMax. Ranks that fail because of it pass it on
// unchanged, so that everyone's error names the first cause.
std::string FarewellText(int rank, absl::string_view why);

// A bug of the caller (CHECK): a peer out of range or itself, or named twice.
void CheckExchangeArguments(int rank, int world_size, std::span<const SendOp> sends,
                            std::span<const ReceiveOp> receives);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_MESSAGE_H_
