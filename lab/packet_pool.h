// Memory for packets in two sizes, used again and again: most packets are either
// super-frames or bare acknowledgements. Not thread-safe.
#ifndef CROSSOVER_LAB_PACKET_POOL_H_
#define CROSSOVER_LAB_PACKET_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace crossover::lab {

struct Packet {
  std::unique_ptr<uint8_t[]> data;
  size_t capacity_bytes = 0;
  size_t size_bytes = 0;
  std::span<const uint8_t> bytes() const { return {data.get(), size_bytes}; }
};

class PacketPool {
 public:
  static constexpr size_t kSmallBytes = 2048;
  static constexpr size_t kLargeBytes = 73'728;  // 64 KiB of payload and headers

  // Room for size_bytes (at most kLargeBytes); size_bytes is set, the content is not.
  Packet Take(size_t size_bytes) {
    const size_t capacity = size_bytes <= kSmallBytes ? kSmallBytes : kLargeBytes;
    auto& free = capacity == kSmallBytes ? small_ : large_;
    Packet packet{.data = nullptr, .capacity_bytes = capacity, .size_bytes = size_bytes};
    if (free.empty()) {
      packet.data.reset(new uint8_t[capacity]);
    } else {
      packet.data = std::move(free.back());
      free.pop_back();
    }
    return packet;
  }
  void GiveBack(Packet packet) {
    auto& free = packet.capacity_bytes == kSmallBytes ? small_ : large_;
    free.push_back(std::move(packet.data));
  }

 private:
  std::vector<std::unique_ptr<uint8_t[]>> small_;
  std::vector<std::unique_ptr<uint8_t[]>> large_;
};

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_PACKET_POOL_H_
