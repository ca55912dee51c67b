#include "lab/segmentation.h"

#include <gtest/gtest.h>

#include <numeric>

namespace crossover::lab {
namespace {

constexpr size_t kIp = kVirtioHeaderBytes + 14, kTcp = kIp + 20, kPayload = kTcp + 32;

// An IPv4 TCP super-frame with timestamps; payload byte i is i modulo 251.
std::vector<uint8_t> SuperFrame(size_t payload_bytes, uint16_t gso_size) {
  std::vector<uint8_t> packet(kPayload + payload_bytes);
  packet[0] = 1;                     // needs a checksum
  packet[1] = gso_size > 0 ? 1 : 0;  // TCP over IPv4
  packet[4] = static_cast<uint8_t>(gso_size);
  packet[5] = static_cast<uint8_t>(gso_size >> 8);
  packet[6] = 34;  // where TCP begins in the frame
  packet[kIp] = 0x45;
  packet[kIp + 4] = 0xff, packet[kIp + 5] = 0xfe;  // identification
  packet[kIp + 8] = 64, packet[kIp + 9] = 6;
  packet[kIp + 12] = 10, packet[kIp + 15] = 1, packet[kIp + 16] = 10, packet[kIp + 19] = 2;
  packet[kTcp + 4] = packet[kTcp + 5] = packet[kTcp + 6] = 0xff;  // sequence number 0xffffff00
  packet[kTcp + 12] = 8 << 4;
  packet[kTcp + 13] = 0x80 | 0x10 | 0x08;  // CWR, ACK, PSH
  for (size_t i = 0; i < payload_bytes; ++i) packet[kPayload + i] = static_cast<uint8_t>(i % 251);
  return packet;
}

uint32_t Sum16(const std::vector<uint8_t>& packet, size_t from, size_t to) {
  uint32_t sum = 0;
  for (size_t at = from; at < to; at += 2) sum += packet[at] << 8 | packet[at + 1];
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

TEST(SegmentationTest, WireBytesOfOneFrame) {
  EXPECT_EQ(DescribeFrame(SuperFrame(1448, 0)).wire_bytes, 1538);
  EXPECT_EQ(DescribeFrame(SuperFrame(1448, 0)).segments, 1);
  // Padded to 60 bytes.
  EXPECT_EQ(DescribeFrame(std::vector<uint8_t>(kVirtioHeaderBytes + 42)).wire_bytes, 84);
  EXPECT_EQ(DescribeFrame({}).segments, 1);
}

TEST(SegmentationTest, WireBytesOfASuperFrame) {
  const FrameInfo full = DescribeFrame(SuperFrame(14480, 1448));
  EXPECT_EQ(full.segments, 10);
  EXPECT_EQ(full.header_bytes, 66);
  EXPECT_EQ(full.wire_bytes, 10 * 1538);
  const FrameInfo rest = DescribeFrame(SuperFrame(14481, 1448));
  EXPECT_EQ(rest.segments, 11);
  EXPECT_EQ(rest.wire_bytes, 10 * 1538 + 67 + 24);
}

TEST(SegmentationTest, NonsenseCountsAsOneFrame) {
  std::vector<uint8_t> packet = SuperFrame(3000, 1448);
  packet[6] = packet[7] = 0xff;  // TCP beyond the end
  EXPECT_EQ(DescribeFrame(packet).segments, 1);
  EXPECT_EQ(DescribeFrame(std::vector<uint8_t>(7, 1)).segments, 1);
  std::vector<uint8_t> headers_alone = SuperFrame(0, 1448);
  EXPECT_EQ(DescribeFrame(headers_alone).segments, 1);
}

TEST(SegmentationTest, CutsKeepEveryByteAndItsPlace) {
  const std::vector<uint8_t> packet = SuperFrame(4500, 1000);
  const FrameInfo info = DescribeFrame(packet);
  ASSERT_EQ(info.segments, 5);
  for (int64_t first = 0; first < 5; ++first) {
    for (int64_t count = 1; first + count <= 5; ++count) {
      const std::vector<uint8_t> cut = CutSegments(packet, info, first, count);
      const size_t begin = static_cast<size_t>(first) * 1000;
      const size_t end = std::min<size_t>(begin + static_cast<size_t>(count) * 1000, 4500);
      ASSERT_EQ(cut.size(), kPayload + end - begin);
      EXPECT_TRUE(std::equal(cut.begin() + kPayload, cut.end(), packet.begin() + kPayload + begin));
      const uint32_t sequence = static_cast<uint32_t>(cut[kTcp + 4]) << 24 | cut[kTcp + 5] << 16 |
                                cut[kTcp + 6] << 8 | cut[kTcp + 7];
      EXPECT_EQ(sequence, 0xffffff00U + static_cast<uint32_t>(begin));
      EXPECT_EQ(cut[kIp + 2] << 8 | cut[kIp + 3], cut.size() - kIp);
      EXPECT_EQ(Sum16(cut, kIp, kTcp), 0xffff) << "the IP header's checksum";
      EXPECT_EQ((cut[kTcp + 13] & 0x80) != 0, first == 0) << "CWR belongs to the first";
      EXPECT_EQ((cut[kTcp + 13] & 0x08) != 0, first + count == 5) << "PSH belongs to the last";
      const FrameInfo described = DescribeFrame(cut);
      EXPECT_EQ(described.segments, count);
      // 10.0.0.1, 10.0.0.2, TCP and the length.
      EXPECT_EQ(static_cast<uint32_t>(cut[kTcp + 16] << 8 | cut[kTcp + 17]),
                0x0a00U + 1 + 0x0a00 + 2 + 6 + (cut.size() - kTcp));
    }
  }
}

TEST(SegmentationTest, OnlyIpv4IsCut) {
  std::vector<uint8_t> packet = SuperFrame(3000, 1000);
  packet[kIp] = 0x60;
  EXPECT_TRUE(CutSegments(packet, DescribeFrame(packet), 0, 1).empty());
}

}  // namespace
}  // namespace crossover::lab
