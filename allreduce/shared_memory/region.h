// The memory through which the ranks of one host meet: for each of them a cell (how far it is), its
// last two announcements (which collective it is in, where its buffers lie, and small values at
// once), and slots for values of private buffers. One anonymous file, made by one member.
// Everything in it was written by another process of the same user: readers check it.
#ifndef CROSSOVER_ALLREDUCE_SHARED_MEMORY_REGION_H_
#define CROSSOVER_ALLREDUCE_SHARED_MEMORY_REGION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "allreduce/frame.h"
#include "os/shared_memory.h"

namespace crossover::allreduce {

// Two cache lines, since processors fetch pairs of them. What one member writes and others read
// costs a cache miss on both sides, so what every collective needs is in the first of them.
struct alignas(128) Cell {
  std::atomic<uint32_t> posts{0};      // counts what the member has told of; wraps
  std::atomic<uint32_t> sleepers{0};   // who wait on `posts` in the kernel
  std::atomic<uint64_t> digests[2]{};  // of the last two announcements' frames, by index % 2
  std::atomic<int64_t> pid{0};         // of the member; 0: it has not come yet
  std::atomic<uint32_t> pulse{0};      // counts signs of life between posts; wraps
};
static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(Cell) == 128);

// Where a buffer of the announced collective lies.
struct Location {
  os::SharedBufferAddress buffer;  // fd -1: in private memory
  uint64_t offset = 0;
};

struct alignas(64) Announcement {
  FrameBytes frame;
  // Counts the member's announcements from 1, once the frame is there; 0: none.
  std::atomic<uint64_t> index;
  Location from;  // both locations are of large collectives alone
  Location into;
};

class Region {
 public:
  // Must be equal on all members, which Attach checks.
  struct Shape {
    uint64_t job = 0;
    uint32_t group = 0;
    uint32_t members = 0;
    uint64_t small_bytes = 0;  // values that fit an announcement
    uint64_t slot_bytes = 0;
    bool operator==(const Shape&) const = default;
  };
  static constexpr int kSlots = 3;

  static absl::StatusOr<Region> Create(const Shape& shape);
  // `descriptor` is another member's.
  static absl::StatusOr<Region> Attach(std::string_view descriptor, const Shape& shape);
  // Each member does so once: a second process in its place is an error.
  absl::Status TakePlace(int member) const;

  std::string descriptor() const { return os::ToString(address()); }
  const Shape& shape() const { return shape_; }

  Cell& cell(int member) const { return cells_[member]; }
  // Number `index` uses the place of index - 2.
  Announcement& announcement(int member, uint64_t index) const {
    return announcements_[PlaceOf(member, 2, index)];
  }
  std::byte* small_values(int member, uint64_t index) const {
    return small_ + PlaceOf(member, 2, index) * shape_.small_bytes;
  }
  std::byte* slot(int member, int64_t index) const {
    return slots_ + PlaceOf(member, kSlots, static_cast<uint64_t>(index)) * shape_.slot_bytes;
  }

 private:
  // Where a member's piece of this number is, of the `places` that each member has in turn.
  static size_t PlaceOf(int member, uint64_t places, uint64_t index) {
    return static_cast<size_t>(member) * places + index % places;
  }
  explicit Region(const Shape& shape) : shape_(shape) {}
  void PointInto(std::byte* data);
  const os::SharedBufferAddress& address() const {
    return own_ ? own_->address() : mapped_->address();
  }

  Shape shape_;
  Cell* cells_ = nullptr;
  Announcement* announcements_ = nullptr;
  std::byte* small_ = nullptr;
  std::byte* slots_ = nullptr;
  std::optional<os::SharedBuffer> own_;  // the maker's
  std::optional<os::MappedPeerBuffer> mapped_;
};

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_SHARED_MEMORY_REGION_H_
