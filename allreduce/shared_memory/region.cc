#include "allreduce/shared_memory/region.h"

#include <unistd.h>

#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace crossover::allreduce {
namespace {

constexpr uint64_t kMagic = 0x315245564f535843;  // "CXSOVER1"; changes with the layout

struct Header {
  uint64_t magic;
  Region::Shape shape;
};

constexpr size_t kPageBytes = 4096;
constexpr size_t RoundUp(size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

// Where each part begins, in bytes.
struct Layout {
  explicit Layout(const Region::Shape& shape)
      : members(shape.members),
        cells(RoundUp(sizeof(Header))),
        announcements(RoundUp(cells + members * sizeof(Cell))),
        small(RoundUp(announcements + members * 2 * sizeof(Announcement))),
        slots(RoundUp(small + members * 2 * shape.small_bytes)),
        end(slots + members * Region::kSlots * shape.slot_bytes) {}
  size_t members;
  size_t cells;
  size_t announcements;
  size_t small;
  size_t slots;
  size_t end;
};

}  // namespace

absl::StatusOr<Region> Region::Create(const Shape& shape) {
  const Layout layout(shape);
  ASSIGN_OR_RETURN(os::SharedBuffer buffer,
                   os::SharedBuffer::Create("crossover ranks of a host", layout.end));
  Region region(shape);
  region.own_ = std::move(buffer);
  region.PointInto(region.own_->data());
  for (size_t member = 0; member < shape.members; ++member) {
    new (region.cells_ + member) Cell();
    for (int k = 0; k < 2; ++k) new (region.announcements_ + 2 * member + k) Announcement();
  }
  const Header header = {kMagic, shape};
  std::memcpy(region.own_->data(), &header, sizeof(header));
  return region;
}

absl::StatusOr<Region> Region::Attach(std::string_view descriptor, const Shape& shape) {
  const std::string what = "the memory that the ranks of this host share: ";
  const auto address = os::ParseSharedBufferAddress(descriptor);
  if (!address.ok()) return Annotate(address.status(), what);
  if (address->bytes != Layout(shape).end) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, address->bytes, " bytes; for ", shape.members, " ranks we expect ",
                     Layout(shape).end, "; fix: give all ranks the same program and options"));
  }
  auto mapped = os::MappedPeerBuffer::Map(*address);
  if (!mapped.ok()) return Annotate(mapped.status(), what);
  Region region(shape);
  region.mapped_ = *std::move(mapped);
  region.PointInto(region.mapped_->data());
  Header header;
  std::memcpy(&header, region.mapped_->data(), sizeof(header));
  if (header.magic != kMagic || header.shape != shape) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, "made for another job, group, set of ranks or version (job ",
                     header.shape.job, ", group ", header.shape.group, ", ", header.shape.members,
                     " ranks; ours are ", shape.job, ", ", shape.group, ", ", shape.members, ")"));
  }
  return region;
}

absl::Status Region::TakePlace(int member) const {
  int64_t taken_by = 0;
  if (cell(member).pid.compare_exchange_strong(taken_by, getpid())) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("the memory that the ranks of this host share: place ", member,
                   " is taken by process ", taken_by, ": two processes have the same rank"));
}

void Region::PointInto(std::byte* data) {
  const Layout layout(shape_);
  cells_ = reinterpret_cast<Cell*>(data + layout.cells);
  announcements_ = reinterpret_cast<Announcement*>(data + layout.announcements);
  small_ = data + layout.small;
  slots_ = data + layout.slots;
}

}  // namespace crossover::allreduce
