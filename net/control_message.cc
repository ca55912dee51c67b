#include "net/control_message.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "net/little_endian.h"
#include "net/one_line.h"

namespace crossover::net {
namespace {

constexpr uint32_t kControlMagic = 0x43535258;  // "XRSC"

std::optional<size_t> TextBytesMax(ControlKind kind) {
  switch (kind) {
    case ControlKind::kNote:
      return kNoteBytesMax;
    case ControlKind::kLastWords:
      return kLastWordsBytesMax;
    case ControlKind::kGoodbye:
      return 0;
  }
  return std::nullopt;  // a number off the wire
}

}  // namespace

std::string EncodeControlMessage(ControlKind kind, std::string_view text) {
  text = text.substr(0, TextBytesMax(kind).value_or(0));
  std::array<std::byte, kControlHeaderBytes> header;
  PutLittleEndian(kControlMagic, header.data());
  PutLittleEndian(static_cast<uint16_t>(kind), header.data() + 4);
  PutLittleEndian(static_cast<uint16_t>(text.size()), header.data() + 6);
  std::string bytes(reinterpret_cast<const char*>(header.data()), header.size());
  bytes.append(text);
  return bytes;
}

absl::StatusOr<std::optional<ControlMessage>> DecodeControlMessage(std::span<const std::byte> bytes,
                                                                   size_t& used) {
  used = 0;
  if (bytes.size() < kControlHeaderBytes) return std::nullopt;
  const uint32_t magic = GetLittleEndian<uint32_t>(bytes.data());
  if (magic != kControlMagic) {
    return absl::DataLossError(
        absl::StrFormat("what came is no control message: it starts with 0x%08x, expected 0x%08x",
                        magic, kControlMagic));
  }
  const uint16_t number = GetLittleEndian<uint16_t>(bytes.data() + 4);
  const ControlKind kind = static_cast<ControlKind>(number);
  const size_t text_bytes = GetLittleEndian<uint16_t>(bytes.data() + 6);
  const std::optional<size_t> text_bytes_max = TextBytesMax(kind);
  if (!text_bytes_max.has_value()) {
    return absl::DataLossError(absl::StrCat("a control message of the unknown kind ", number));
  }
  if (text_bytes > *text_bytes_max) {
    return absl::DataLossError(absl::StrCat("a control message of kind ", number, " with ",
                                            text_bytes, " bytes of text came; at most ",
                                            *text_bytes_max, " are allowed"));
  }
  if (bytes.size() < kControlHeaderBytes + text_bytes) return std::nullopt;
  used = kControlHeaderBytes + text_bytes;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data() + kControlHeaderBytes),
                              text_bytes);
  return ControlMessage{kind, OneLine(text)};
}

}  // namespace crossover::net
