#include "ps/frame_buffer.h"

#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "core/check.h"
#include "core/half.h"
#include "net/thread_handover.h"

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

grpc::Slice CopyAs(DataType type, std::span<const float> values, PartPool& pool) {
  const auto length = static_cast<int64_t>(values.size());
  auto buffer = std::make_unique<PartPool::Buffer>(pool.Take(length));
  auto* const bytes = reinterpret_cast<std::byte*>(buffer->values().data());
  if (type == DataType::kFloat16) {
    FloatsToFloat16s(values.data(), bytes, length);
  } else if (type == DataType::kBfloat16) {
    FloatsToBfloat16s(values.data(), bytes, length);
  } else {
    std::memcpy(bytes, values.data(), values.size_bytes());
  }
  net::HandOver(buffer.get());
  const auto give_back = [](void* owner) {
    net::TakeOver(owner);
    delete static_cast<PartPool::Buffer*>(owner);
  };
  return grpc::Slice(bytes, BytesOf(type) * values.size(), give_back, buffer.release());
}

SliceLender::~SliceLender() {
  const std::lock_guard lock(mutex_);
  CROSSOVER_CHECK(lent_ == 0, "the lender outlives what it lends");
}

grpc::Slice SliceLender::Lend(std::span<const std::byte> bytes) {
  {
    const std::lock_guard lock(mutex_);
    ++lent_;
  }
  net::HandOver(this);
  // gRPC only reads what a slice of an outgoing message points to.
  return grpc::Slice(const_cast<std::byte*>(bytes.data()), bytes.size(), &SliceLender::Return,
                     this);
}

void SliceLender::Return(void* lender) {
  net::TakeOver(lender);
  auto& self = *static_cast<SliceLender*>(lender);
  // Notified under the mutex, so that whoever waits cannot destroy it before.
  const std::lock_guard lock(self.mutex_);
  if (--self.lent_ == 0) self.returned_.notify_all();
}

bool SliceLender::WaitUntilReturned(double timeout_s) {
  std::unique_lock lock(mutex_);
  return returned_.wait_for(lock, std::chrono::duration<double>(timeout_s),
                            [this] { return lent_ == 0; });
}

}  // namespace crossover::ps
