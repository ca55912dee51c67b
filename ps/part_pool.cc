#include "ps/part_pool.h"

#include "core/check.h"

namespace crossover::ps {

std::shared_ptr<PartPool> PartPool::Make(int64_t length_max) {
  return std::shared_ptr<PartPool>(new PartPool(length_max));
}

PartPool::Buffer& PartPool::Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  Return();
  pool_ = std::move(other.pool_);
  memory_ = std::move(other.memory_);
  length_ = std::exchange(other.length_, 0);
  return *this;
}

void PartPool::Buffer::Return() {
  if (memory_ == nullptr) return;
  pool_->Uncount(length_ * static_cast<int64_t>(sizeof(float)));
  {
    const std::lock_guard lock(pool_->mutex_);
    pool_->free_.push_back(std::move(memory_));
  }
  length_ = 0;
  pool_.reset();
}

PartPool::Buffer PartPool::Take(int64_t length) {
  CROSSOVER_CHECK(length <= length_max_, "it fits a buffer");
  Buffer buffer;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      buffer.memory_ = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (buffer.memory_ == nullptr) {
    buffer.memory_ = std::make_unique_for_overwrite<float[]>(length_max_);
  }
  buffer.length_ = length;
  buffer.pool_ = shared_from_this();
  Count(length * static_cast<int64_t>(sizeof(float)));
  return buffer;
}

void PartPool::Count(int64_t bytes) {
  const int64_t held_bytes = held_bytes_ += bytes;
  int64_t max = held_bytes_max_;
  while (held_bytes > max && !held_bytes_max_.compare_exchange_weak(max, held_bytes)) {
  }
}

}  // namespace crossover::ps
