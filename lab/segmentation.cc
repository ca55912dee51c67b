#include "lab/segmentation.h"

#include <algorithm>

#include "core/check.h"

namespace crossover::lab {
namespace {

// Offsets in the virtio header (little-endian on the machines that we build for: the
// legacy header is in the host's order) and flags in it.
constexpr size_t kFlagsAt = 0, kGsoTypeAt = 1, kGsoSizeAt = 4, kChecksumStartAt = 6;
constexpr uint8_t kNeedsChecksum = 1;
constexpr uint8_t kGsoNone = 0, kGsoTcp4 = 1, kGsoTcp6 = 4, kGsoEcn = 0x80;

constexpr size_t kEthernetBytes = 14;
constexpr size_t kTcpBytesMin = 20;
constexpr int64_t kWireOverheadBytes = 24;  // preamble 8, FCS 4, inter-frame gap 12
constexpr int64_t kFrameBytesMin = 60;      // without FCS
constexpr uint8_t kTcpFin = 0x01, kTcpPush = 0x08, kTcpCwr = 0x80;

uint16_t HostWord(std::span<const uint8_t> packet, size_t at) {
  return static_cast<uint16_t>(packet[at] | packet[at + 1] << 8);
}

uint16_t Word(std::span<const uint8_t> bytes, size_t at) {
  return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

void SetWord(std::span<uint8_t> bytes, size_t at, uint32_t value) {
  bytes[at] = static_cast<uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<uint8_t>(value);
}

// One's complement sum (RFC 1071), not yet complemented.
uint32_t Sum(std::span<const uint8_t> bytes, uint32_t sum) {
  for (size_t at = 0; at + 1 < bytes.size(); at += 2) sum += Word(bytes, at);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

int64_t WireBytes(int64_t frame_bytes) {
  return std::max(frame_bytes, kFrameBytesMin) + kWireOverheadBytes;
}

}  // namespace

FrameInfo DescribeFrame(std::span<const uint8_t> packet) {
  FrameInfo info;
  info.frame_bytes = static_cast<int64_t>(packet.size()) - static_cast<int64_t>(kVirtioHeaderBytes);
  info.wire_bytes = WireBytes(info.frame_bytes);
  if (packet.size() < kVirtioHeaderBytes) return info;
  const uint8_t type = packet[kGsoTypeAt] & ~kGsoEcn;
  const int64_t payload = HostWord(packet, kGsoSizeAt);
  if ((type != kGsoTcp4 && type != kGsoTcp6) || payload == 0) return info;
  // The header's own hdr_len is only a hint: TCP says where its payload begins.
  const size_t tcp = kVirtioHeaderBytes + HostWord(packet, kChecksumStartAt);
  if (tcp + kTcpBytesMin > packet.size()) return info;
  const int64_t headers =
      static_cast<int64_t>(tcp - kVirtioHeaderBytes) + int64_t{4} * (packet[tcp + 12] >> 4);
  if (headers >= info.frame_bytes) return info;
  info.header_bytes = headers;
  info.segment_payload_bytes = payload;
  info.segments = (info.frame_bytes - headers + payload - 1) / payload;
  const int64_t last = info.frame_bytes - headers - (info.segments - 1) * payload;
  info.wire_bytes = (info.segments - 1) * WireBytes(headers + payload) + WireBytes(headers + last);
  return info;
}

std::vector<uint8_t> CutSegments(std::span<const uint8_t> packet, const FrameInfo& info,
                                 int64_t first, int64_t count) {
  CROSSOVER_CHECK(first >= 0 && count > 0 && first + count <= info.segments && info.segments > 1,
                  "a range of the super-frame's segments");
  const size_t ip = kVirtioHeaderBytes + kEthernetBytes;
  const size_t tcp = kVirtioHeaderBytes + HostWord(packet, kChecksumStartAt);
  const bool is_ipv4 = (packet[kGsoTypeAt] & ~kGsoEcn) == kGsoTcp4 && tcp >= ip + 20 &&
                       packet[ip] >> 4 == 4 && size_t{4} * (packet[ip] & 15) == tcp - ip;
  if (!is_ipv4) return {};
  const int64_t begin = first * info.segment_payload_bytes;
  const int64_t payload_bytes =
      std::min(count * info.segment_payload_bytes, info.frame_bytes - info.header_bytes - begin);
  const size_t headers_end = kVirtioHeaderBytes + static_cast<size_t>(info.header_bytes);
  std::vector<uint8_t> cut(packet.begin(), packet.begin() + static_cast<int64_t>(headers_end));
  const auto payload = packet.begin() + static_cast<int64_t>(headers_end) + begin;
  cut.insert(cut.end(), payload, payload + payload_bytes);

  if (count == 1) {
    cut[kGsoTypeAt] = kGsoNone;
    cut[kGsoSizeAt] = cut[kGsoSizeAt + 1] = 0;
  }
  const std::span<uint8_t> bytes(cut);
  SetWord(bytes, ip + 2, static_cast<uint32_t>(cut.size() - ip));
  SetWord(bytes, ip + 4, Word(packet, ip + 4) + static_cast<uint32_t>(first));
  SetWord(bytes, ip + 10, 0);
  SetWord(bytes, ip + 10, ~Sum(bytes.subspan(ip, tcp - ip), 0));
  const uint32_t sequence =
      (static_cast<uint32_t>(Word(packet, tcp + 4)) << 16 | Word(packet, tcp + 6)) +
      static_cast<uint32_t>(begin);
  SetWord(bytes, tcp + 4, sequence >> 16);
  SetWord(bytes, tcp + 6, sequence);
  if (first + count < info.segments) cut[tcp + 13] &= static_cast<uint8_t>(~(kTcpFin | kTcpPush));
  if (first > 0) cut[tcp + 13] &= static_cast<uint8_t>(~kTcpCwr);
  if ((cut[kFlagsAt] & kNeedsChecksum) != 0) {
    // Left for the receiver to finish: the sum of the pseudo-header alone.
    const uint32_t protocol_and_length = packet[ip + 9] + static_cast<uint32_t>(cut.size() - tcp);
    SetWord(bytes, tcp + 16, Sum(bytes.subspan(ip + 12, 8), protocol_and_length));
  }
  return cut;
}

}  // namespace crossover::lab
