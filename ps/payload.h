// Values as they come off a stream: little-endian fp32, fp16 or bf16 of any alignment, in pieces
// whose borders may fall inside a value, so that a server can sum straight from
// the buffers in which a message arrived. They are summed in fp32 whatever they travel as.
//
// A view: the bytes are borrowed and must outlive it. Immutable, thread-safe.
#ifndef CROSSOVER_PS_PAYLOAD_H_
#define CROSSOVER_PS_PAYLOAD_H_

#include <cstddef>
#include <span>
#include <vector>

#include "core/data_type.h"

namespace crossover::ps {

class Payload {
 public:
  Payload() = default;
  // One piece.
  explicit Payload(std::span<const std::byte> bytes, DataType type = DataType::kFloat32);

  void Append(std::span<const std::byte> piece);
  size_t size_bytes() const { return size_bytes_; }
  // What the bytes are values of: fp32, fp16 or bf16.
  DataType type() const { return type_; }

  // into = values, and into += values. size_bytes() == BytesOf(type()) * into.size() (CHECK).
  void CopyTo(std::span<float> into) const;
  void AddTo(std::span<float> into) const;
  // The first into.size() bytes (CHECK: there are so many).
  void CopyHead(std::span<std::byte> into) const;
  // Everything after the first `bytes` (CHECK: there are so many), as values of `type`.
  Payload Tail(size_t bytes, DataType type = DataType::kFloat32) const;

 private:
  std::vector<std::span<const std::byte>> pieces_;
  size_t size_bytes_ = 0;
  DataType type_ = DataType::kFloat32;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_PAYLOAD_H_
