#include "net/slice_pool.h"

#include <cstring>
#include <utility>

#include "core/check.h"
#include "net/thread_handover.h"

namespace crossover::net {
namespace {

// Small ones come cheap.
constexpr size_t kPooledBytesMin = 16 << 10;

}  // namespace

std::shared_ptr<SlicePool> SlicePool::Make(size_t buffer_bytes, size_t kept_max) {
  return std::shared_ptr<SlicePool>(new SlicePool(buffer_bytes, kept_max));
}

grpc::Slice SlicePool::Copy(std::span<const std::byte> bytes) {
  CROSSOVER_CHECK(bytes.size() <= buffer_bytes_, "it fits a buffer");
  if (bytes.size() < kPooledBytesMin) return grpc::Slice(bytes.data(), bytes.size());
  auto loan = std::make_unique<Loan>(Loan{shared_from_this(), Take()});
  std::byte* const copy = loan->buffer.get();
  std::memcpy(copy, bytes.data(), bytes.size());
  HandOver(loan.get());
  return grpc::Slice(copy, bytes.size(), &SlicePool::Return, loan.release());
}

SlicePool::Buffer SlicePool::Take() {
  {
    const std::lock_guard lock(mutex_);
    if (!kept_.empty()) {
      Buffer buffer = std::move(kept_.back());
      kept_.pop_back();
      return buffer;
    }
  }
  return std::make_unique_for_overwrite<std::byte[]>(buffer_bytes_);
}

void SlicePool::Return(void* raw_loan) {
  TakeOver(raw_loan);
  const std::unique_ptr<Loan> loan(static_cast<Loan*>(raw_loan));
  SlicePool& pool = *loan->pool;
  const std::lock_guard lock(pool.mutex_);
  if (pool.kept_.size() < pool.kept_max_) pool.kept_.push_back(std::move(loan->buffer));
}

}  // namespace crossover::net
