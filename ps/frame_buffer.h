// Between gRPC's byte buffers and frames (ps/wire.h), without copying values.
#ifndef CROSSOVER_PS_FRAME_BUFFER_H_
#define CROSSOVER_PS_FRAME_BUFFER_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "core/data_type.h"
#include "ps/part_pool.h"
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
// A message whose payload is shared (by reference count) with the slice. Sets the
// header's payload_bytes.
grpc::ByteBuffer MakeMessage(FrameHeader header, const grpc::Slice& payload);

// The values as `type` (fp32, fp16, bf16) in a buffer of the pool's, to which it returns with the
// last copy of the slice.
grpc::Slice CopyAs(DataType type, std::span<const float> values, PartPool& pool);

// Lends bytes to gRPC without copying and knows when all have come back: a call that
// has ended proves nothing, its transport may still be writing from them. Thread-safe.
// The destructor needs everything back (CHECK).
class SliceLender {
 public:
  SliceLender() = default;
  ~SliceLender();
  SliceLender(const SliceLender&) = delete;
  SliceLender& operator=(const SliceLender&) = delete;

  // The bytes must stay until all slices are back.
  grpc::Slice Lend(std::span<const std::byte> bytes);
  // Blocks until nothing is lent, at most this long: whether it is so.
  bool WaitUntilReturned(double timeout_s);

 private:
  // From any thread of gRPC's, whatever locks it holds.
  static void Return(void* lender);

  // A leaf: nothing is called with it held.
  std::mutex mutex_;
  std::condition_variable returned_;
  int64_t lent_ = 0;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_FRAME_BUFFER_H_
