// Values as they come off a stream: little-endian fp32 of any alignment, in pieces
// whose borders may fall inside a value, so that a server can sum straight from
// the buffers in which a message arrived.
//
// A view: the bytes are borrowed and must outlive it. Immutable, thread-safe.
#ifndef CROSSOVER_PS_PAYLOAD_H_
#define CROSSOVER_PS_PAYLOAD_H_

#include <cstddef>
#include <span>
#include <vector>

namespace crossover::ps {

class Payload {
 public:
  Payload() = default;
  // One piece.
  explicit Payload(std::span<const std::byte> bytes);

  void Append(std::span<const std::byte> piece);
  size_t size_bytes() const { return size_bytes_; }

  // into = values, and into += values. size_bytes() == 4 * into.size() (CHECK).
  void CopyTo(std::span<float> into) const;
  void AddTo(std::span<float> into) const;
  // The first into.size() bytes (CHECK: there are so many).
  void CopyHead(std::span<std::byte> into) const;
  // Everything after the first `bytes` (CHECK: there are so many).
  Payload Tail(size_t bytes) const;

 private:
  std::vector<std::span<const std::byte>> pieces_;
  size_t size_bytes_ = 0;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_PAYLOAD_H_
