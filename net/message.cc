#include "net/message.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/check.h"
#include "net/little_endian.h"

namespace crossover::net {
namespace {

constexpr uint32_t kDataMagic = 0x4d535258;      // "XRSM"
constexpr uint32_t kFarewellMagic = 0x42535258;  // "XRSB"

std::string Describe(const MessageTag& tag, uint64_t bytes) {
  return absl::StrFormat("%d bytes (of %d) of operation 0x%x sequence %d", bytes, tag.total_bytes,
                         tag.operation, tag.sequence);
}

}  // namespace

MessageHeaderBytes EncodeMessageHeader(const MessageHeader& header) {
  MessageHeaderBytes bytes;
  PutLittleEndian(header.farewell ? kFarewellMagic : kDataMagic, bytes.data());
  PutLittleEndian(header.tag.operation, bytes.data() + 4);
  PutLittleEndian(header.tag.sequence, bytes.data() + 8);
  PutLittleEndian(header.bytes, bytes.data() + 16);
  PutLittleEndian(header.tag.total_bytes, bytes.data() + 24);
  return bytes;
}

absl::StatusOr<MessageHeader> DecodeMessageHeader(
    std::span<const std::byte, kMessageHeaderBytes> bytes) {
  const uint32_t magic = GetLittleEndian<uint32_t>(bytes.data());
  if (magic != kDataMagic && magic != kFarewellMagic) {
    return absl::DataLossError(absl::StrFormat(
        "what came is no message: it starts with 0x%08x, expected 0x%08x", magic, kDataMagic));
  }
  MessageHeader header;
  header.farewell = magic == kFarewellMagic;
  header.tag.operation = GetLittleEndian<uint32_t>(bytes.data() + 4);
  header.tag.sequence = GetLittleEndian<uint64_t>(bytes.data() + 8);
  header.bytes = GetLittleEndian<uint64_t>(bytes.data() + 16);
  header.tag.total_bytes = GetLittleEndian<uint64_t>(bytes.data() + 24);
  if (header.farewell && header.bytes > kFarewellBytesMax) {
    return absl::DataLossError(absl::StrCat("a farewell of ", header.bytes, " bytes came; at most ",
                                            kFarewellBytesMax, " are allowed"));
  }
  return header;
}

absl::Status CheckMessage(int peer, int rank, const MessageHeader& got, const MessageTag& expected,
                          uint64_t expected_bytes) {
  if (got.tag.operation == expected.operation && got.tag.sequence == expected.sequence &&
      got.tag.total_bytes == expected.total_bytes && got.bytes == expected_bytes) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("rank ", peer, " sent ", Describe(got.tag, got.bytes), "; this rank ", rank,
                   " expected ", Describe(expected, expected_bytes)));
}

std::string FarewellText(int rank, absl::string_view why) {
  std::string text = absl::StrCat("rank ", rank, " gave up: ", why);
  if (text.size() > kFarewellBytesMax) text.resize(kFarewellBytesMax);
  return text;
}

void CheckExchangeArguments(int rank, int world_size, std::span<const SendOp> sends,
                            std::span<const ReceiveOp> receives) {
  const auto check = [&](auto ops) {
    for (size_t i = 0; i < ops.size(); ++i) {
      const int peer = ops[i].peer;
      CROSSOVER_CHECK(peer >= 0 && peer < world_size && peer != rank,
                      "an exchange names other ranks of the world");
      for (size_t j = 0; j < i; ++j) {
        CROSSOVER_CHECK(ops[j].peer != peer, "an exchange names a peer once for each direction");
      }
    }
  };
  check(sends);
  check(receives);
}

}  // namespace crossover::net
