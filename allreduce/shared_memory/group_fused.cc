// The fused path of SharedMemoryGroup: straight between buffers that all members have mapped.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allreduce/shared_memory/group.h"
#include "core/combine.h"
#include "core/status.h"

namespace crossover::allreduce {
namespace {

constexpr int64_t kLineBytes = 64;

struct Share {
  int64_t begin;
  int64_t length;
};

// The index-th of `pieces` shares of `count` values: whole cache lines, as equal as they can be.
Share ShareOf(int64_t count, int64_t value_bytes, int index, int pieces) {
  const int64_t line = kLineBytes / value_bytes;
  const int64_t lines = count / line + (count % line != 0 ? 1 : 0);
  const auto start = [&](int64_t k) {
    return std::min(count, (lines / pieces * k + std::min(k, lines % pieces)) * line);
  };
  return {start(index), start(index + 1) - start(index)};
}

}  // namespace

Location SharedMemoryGroup::Locate(const std::byte* begin, int64_t bytes) const {
  const auto place = registry_.Find(begin, static_cast<size_t>(bytes));
  return place ? Location{place->buffer, place->offset} : Location{};
}

absl::StatusOr<std::byte*> SharedMemoryGroup::Map(int member, const Location& location,
                                                  int64_t bytes) {
  const os::SharedBufferAddress& address = location.buffer;
  if (location.offset > address.bytes ||
      static_cast<uint64_t>(bytes) > address.bytes - location.offset) {
    return absl::DataLossError(absl::StrCat(bytes, " bytes at ", location.offset,
                                            " do not lie in its buffer of ", address.bytes));
  }
  std::vector<os::MappedPeerBuffer>& known = mapped_[member];
  auto found = std::ranges::find(known, address, &os::MappedPeerBuffer::address);
  if (found == known.end()) {
    // A descriptor that is used again is a buffer that is gone.
    std::erase_if(known, [&](const auto& old) { return old.address().fd == address.fd; });
    ASSIGN_OR_RETURN(os::MappedPeerBuffer buffer, os::MappedPeerBuffer::Map(address));
    known.push_back(std::move(buffer));
    found = std::prev(known.end());
  }
  return found->data() + location.offset;
}

absl::StatusOr<bool> SharedMemoryGroup::MapAll(const Call& call) {
  const bool writes_all = call.kind == Kind::kAllReduce;
  const auto announced = [&](int member) -> const Announcement& {
    return region_.announcement(member, meeting_.index());
  };
  for (int member = 0; member < members(); ++member) {
    const bool shared = announced(member).from.buffer.fd >= 0 &&
                        (!writes_all || announced(member).into.buffer.fd >= 0);
    if (BytesGiven(call, member) > 0 && !shared) return false;
  }
  for (int member = 0; member < members(); ++member) {
    const int64_t given_bytes = BytesGiven(call, member);
    if (member == self()) {
      froms_[member] = call.from;
      intos_[member] = call.into;
    } else if (given_bytes > 0) {
      // A copy: the original is another process's to change.
      const Location from = announced(member).from;
      const Location into = announced(member).into;
      ASSIGN_OR_RETURN(froms_[member], Map(member, from, given_bytes));
      if (!writes_all) continue;
      ASSIGN_OR_RETURN(intos_[member], Map(member, into, call.into_count * call.value_bytes));
    }
  }
  return true;
}

absl::Status SharedMemoryGroup::RunFused(const Call& call, bool* done) {
  const absl::StatusOr<bool> mapped = MapAll(call);
  if (!mapped.ok()) {
    absl::Status error =
        Annotate(mapped.status(), absl::StrCat("rank ", endpoint_.rank(), " in ",
                                               Describe(call.frame), ": a peer's buffer: "));
    endpoint_.Abort(error);
    return error;
  }
  if (!*mapped) return absl::OkStatus();
  *done = true;
  switch (call.kind) {
    case Kind::kAllReduce:
      FuseAllReduce(call);
      break;
    case Kind::kReduceScatter:
      FuseReduceScatter(call);
      break;
    case Kind::kAllGather:
      FuseAllGather(call);
      break;
    case Kind::kBroadcast:
      FuseBroadcast(call);
      break;
    case Kind::kBarrier:
      break;
  }
  return meeting_.Sync();  // all are done with all buffers
}

void SharedMemoryGroup::FuseAllReduce(const Call& call) {
  const Share share = ShareOf(call.from_count, call.value_bytes, self(), members());
  for (int member = 0; member < members(); ++member) {
    froms_[member] += share.begin * call.value_bytes;
    intos_[member] += share.begin * call.value_bytes;
  }
  // In place the results' cache lines are here already, having been read.
  bool stream = call.from_count * call.value_bytes >= options_.stream_bytes_min;
  for (int member = 0; member < members(); ++member) stream &= intos_[member] != froms_[member];
  CombineInOrderIntoAll(call.frame.type, call.op, intos_, froms_, share.length,
                        stream ? Stores::kStream : Stores::kCached);
}

void SharedMemoryGroup::FuseReduceScatter(const Call& call) {
  if (call.into_count == 0) return;
  const int64_t begin = call.blocks[self()].offset * call.value_bytes;
  for (const std::byte*& from : froms_) from += begin;
  CombineInOrder(call.frame.type, call.op, call.into, froms_, call.into_count);
}

void SharedMemoryGroup::FuseAllGather(const Call& call) {
  // Each begins with another, so that not all read the same memory at once.
  for (int k = 0; k < members(); ++k) {
    const int member = (self() + k) % members();
    const int64_t bytes = BytesGiven(call, member);
    std::byte* const into = call.into + call.blocks[member].offset * call.value_bytes;
    if (bytes > 0 && into != froms_[member]) {
      std::memcpy(into, froms_[member], static_cast<size_t>(bytes));
    }
  }
}

void SharedMemoryGroup::FuseBroadcast(const Call& call) {
  if (call.into == froms_[call.root]) return;
  std::memcpy(call.into, froms_[call.root],
              static_cast<size_t>(call.into_count * call.value_bytes));
}

}  // namespace crossover::allreduce
