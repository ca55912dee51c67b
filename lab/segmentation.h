// Frames as a TAP device hands them over: a 10-byte virtio-net header (virtio 1.2,
// 5.1.6), then an Ethernet frame without FCS. With segmentation offload one such packet
// stands for many frames on the wire (a super-frame of up to 64 KiB of TCP payload);
// these functions say how many and how many bytes they take there, and cut a super-frame
// where some of its frames were lost. Pure; any bytes are safe to pass.
#ifndef CROSSOVER_LAB_SEGMENTATION_H_
#define CROSSOVER_LAB_SEGMENTATION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace crossover::lab {

inline constexpr size_t kVirtioHeaderBytes = 10;

struct FrameInfo {
  int64_t frame_bytes = 0;            // after the virtio header
  int64_t header_bytes = 0;           // Ethernet, IP and TCP; repeated in every segment
  int64_t segment_payload_bytes = 0;  // of each but the last; 0: a frame by itself
  int64_t segments = 1;
  // Of all its segments: preamble (8), FCS (4), gap (12) and padding to 60 bytes included.
  int64_t wire_bytes = 0;
};

// A packet whose headers make no sense counts as one frame of its length.
FrameInfo DescribeFrame(std::span<const uint8_t> packet);

// Segments first .. first + count - 1 of an IPv4 TCP super-frame as a packet of their own:
// lengths, sequence number, flags and checksums adjusted. `info` describes `packet`, has
// more than one segment and holds the range. Empty if it is not IPv4 with TCP.
std::vector<uint8_t> CutSegments(std::span<const uint8_t> packet, const FrameInfo& info,
                                 int64_t first, int64_t count);

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_SEGMENTATION_H_
