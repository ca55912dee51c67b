#include "ps/frame_buffer.h"

namespace crossover::ps {

ReceivedMessage::ReceivedMessage(const grpc::ByteBuffer& buffer) {
  // Fails only for a buffer that holds nothing at all, which has no bytes.
  if (!buffer.Dump(&slices_).ok()) slices_.clear();
  for (const grpc::Slice& slice : slices_) {
    bytes_.Append(std::as_bytes(std::span(slice.begin(), slice.size())));
  }
}

grpc::ByteBuffer MakeMessage(const FrameHeader& header) {
  const auto bytes = EncodeHeader(header);
  const grpc::Slice slice(bytes.data(), bytes.size());
  return grpc::ByteBuffer(&slice, 1);
}

grpc::ByteBuffer MakeMessage(FrameHeader header, const grpc::Slice& payload) {
  header.payload_bytes = static_cast<int64_t>(payload.size());
  const auto bytes = EncodeHeader(header);
  const grpc::Slice slices[] = {grpc::Slice(bytes.data(), bytes.size()), payload};
  return grpc::ByteBuffer(slices, 2);
}

grpc::Slice BorrowedSlice(std::span<const std::byte> bytes) {
  return grpc::Slice(bytes.data(), bytes.size(), grpc::Slice::STATIC_SLICE);
}

}  // namespace crossover::ps
