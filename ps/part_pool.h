// Buffers of a part's size for what a server holds for a moment (sums, contributions that wait for
// their turn, replies), used again and again, and a count of those bytes and of received ones. What
// was needed once is kept, so memory is that of the busiest moment; fresh buffers would cost
// a page fault every 4 KiB.
#ifndef CROSSOVER_PS_PART_POOL_H_
#define CROSSOVER_PS_PART_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace crossover::ps {

// Thread-safe. Buffers keep their pool alive.
class PartPool : public std::enable_shared_from_this<PartPool> {
 public:
  // Of the largest part.
  static std::shared_ptr<PartPool> Make(int64_t length_max);

  // `length` fp32 values, for one thread at a time; back in the pool when destroyed. Empty if moved
  // from or made by default.
  class Buffer {
   public:
    Buffer() = default;
    ~Buffer() { Return(); }
    Buffer(Buffer&& other) noexcept { *this = std::move(other); }
    Buffer& operator=(Buffer&& other) noexcept;

    bool empty() const { return memory_ == nullptr; }
    std::span<float> values() const { return {memory_.get(), static_cast<size_t>(length_)}; }
    void Return();

   private:
    friend class PartPool;
    std::shared_ptr<PartPool> pool_;
    std::unique_ptr<float[]> memory_;
    int64_t length_ = 0;
  };
  // At most length_max values (CHECK), whatever they are.
  Buffer Take(int64_t length);

  // Counts bytes that are held elsewhere, until Uncount.
  void Count(int64_t bytes);
  void Uncount(int64_t bytes) { held_bytes_ -= bytes; }
  // Most bytes held at once, as far as counted: buffers in use and Count.
  int64_t held_bytes_max() const { return held_bytes_max_; }

 private:
  explicit PartPool(int64_t length_max) : length_max_(length_max) {}

  const int64_t length_max_;
  std::atomic<int64_t> held_bytes_ = 0;
  std::atomic<int64_t> held_bytes_max_ = 0;
  std::mutex mutex_;  // a leaf: nothing is called with it held
  std::vector<std::unique_ptr<float[]>> free_;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_PART_POOL_H_
