// What needs no devices; the switch at work is tested in network_lab_test.
#include "lab/switch.h"

#include <gtest/gtest.h>

#include "lab/switch_port.h"

namespace crossover::lab {
namespace {

TEST(SwitchTest, AddressesSayThePort) {
  EXPECT_EQ(PortMac(0), "02:78:6f:00:00:01");
  EXPECT_EQ(PortMac(255), "02:78:6f:00:01:00");
  const std::vector<uint8_t> to_first = {0x02, 0x78, 0x6f, 0, 0, 1, 9, 9};
  EXPECT_EQ(PortOf(to_first, 4), 0);
  const std::vector<uint8_t> to_256th = {0x02, 0x78, 0x6f, 0, 1, 0, 9, 9};
  EXPECT_EQ(PortOf(to_256th, 256), 255);
}

TEST(SwitchTest, AnythingElseIsFlooded) {
  const std::vector<uint8_t> broadcast(14, 0xff);
  EXPECT_EQ(PortOf(broadcast, 4), -1);
  const std::vector<uint8_t> beyond = {0x02, 0x78, 0x6f, 0, 0, 5};
  EXPECT_EQ(PortOf(beyond, 4), -1);
  const std::vector<uint8_t> none = {0x02, 0x78, 0x6f, 0, 0, 0};
  EXPECT_EQ(PortOf(none, 4), -1);
  EXPECT_EQ(PortOf({}, 4), -1);
}

TEST(SwitchTest, TheOldPacketMemoryIsUsedAgain) {
  PacketPool pool;
  Packet small = pool.Take(PacketPool::kSmallBytes);
  Packet large = pool.Take(PacketPool::kSmallBytes + 1);
  EXPECT_EQ(large.capacity_bytes, PacketPool::kLargeBytes);
  const uint8_t* memory = small.data.get();
  pool.GiveBack(std::move(small));
  pool.GiveBack(std::move(large));
  const Packet again = pool.Take(60);
  EXPECT_EQ(again.data.get(), memory);
  EXPECT_EQ(again.bytes().size(), 60);
}

}  // namespace
}  // namespace crossover::lab
