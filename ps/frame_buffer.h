// Between gRPC's byte buffers and frames (ps/wire.h), without copying values.
#ifndef CROSSOVER_PS_FRAME_BUFFER_H_
#define CROSSOVER_PS_FRAME_BUFFER_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <span>
#include <vector>

#include "ps/payload.h"
#include "ps/wire.h"

namespace crossover::ps {

// Keeps the buffers of a received message alive and views their bytes.
class ReceivedMessage {
 public:
  explicit ReceivedMessage(const grpc::ByteBuffer& buffer);
  ReceivedMessage(const ReceivedMessage&) = delete;
  ReceivedMessage& operator=(const ReceivedMessage&) = delete;

  // Header and payload, borrowed from this object.
  const Payload& bytes() const { return bytes_; }

 private:
  std::vector<grpc::Slice> slices_;
  Payload bytes_;
};

// A message of a header alone; its payload_bytes must be 0.
grpc::ByteBuffer MakeMessage(const FrameHeader& header);
// A message whose payload is shared (by reference count) with the slice, or
// borrowed where the slice is a static one. Sets the header's payload_bytes.
grpc::ByteBuffer MakeMessage(FrameHeader header, const grpc::Slice& payload);
// A slice that borrows: the bytes must stay until the message has left.
grpc::Slice BorrowedSlice(std::span<const std::byte> bytes);

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_FRAME_BUFFER_H_
