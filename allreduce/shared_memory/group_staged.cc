// The staged path of SharedMemoryGroup: values of private buffers go through slots, block by block.
// A slot is written again only after a meeting that followed its last reading.
#include <algorithm>
#include <cstring>
#include <vector>

#include "allreduce/shared_memory/group.h"
#include "core/combine.h"
#include "core/status.h"

namespace crossover::allreduce {
namespace {

// Cuts `total` values into blocks of `most`, the last one shorter.
class Blocks {
 public:
  Blocks(int64_t total, int64_t most) : total_(total), most_(most) {}
  int64_t count() const { return (total_ + most_ - 1) / most_; }
  int64_t begin(int64_t block) const { return block * most_; }
  int64_t length(int64_t block) const { return std::min(most_, total_ - begin(block)); }

 private:
  int64_t total_;
  int64_t most_;
};

void Copy(std::byte* into, const std::byte* from, int64_t bytes) {
  std::memcpy(into, from, static_cast<size_t>(bytes));
}

struct ShareOfBlock {
  int64_t in_slot;
  int64_t in_buffer;
  int64_t bytes;
};

}  // namespace

absl::Status SharedMemoryGroup::RunStaged(const Call& call) {
  switch (call.kind) {
    case Kind::kAllReduce:
      return members() == 2 ? StageAllReduceOfTwo(call) : StageAllReduce(call);
    case Kind::kReduceScatter:
      return StageReduceScatter(call);
    case Kind::kAllGather:
      return StageAllGather(call);
    case Kind::kBroadcast:
      return StageBroadcast(call);
    case Kind::kBarrier:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

// Each of two combines everything: the other's values from its slot, its own from where they are.
absl::Status SharedMemoryGroup::StageAllReduceOfTwo(const Call& call) {
  const Blocks blocks(call.from_count, options_.slot_bytes / call.value_bytes);
  const int other = 1 - self();
  for (int64_t block = 0; block < blocks.count(); ++block) {
    const int64_t offset = blocks.begin(block) * call.value_bytes;
    const int64_t length = blocks.length(block);
    Copy(region_.slot(self(), block), call.from + offset, length * call.value_bytes);
    RETURN_IF_ERROR(meeting_.Sync());
    froms_[self()] = call.from + offset;
    froms_[other] = region_.slot(other, block);
    CombineInOrder(call.frame.type, call.op, call.into + offset, froms_, length);
  }
  return absl::OkStatus();
}

// In each step, of three blocks at once: values go in, our share of the block before is combined,
// and the others' shares of the one before that come out. Our share goes neither in nor out.
absl::Status SharedMemoryGroup::StageAllReduce(const Call& call) {
  const Blocks blocks(call.from_count, options_.slot_bytes / call.value_bytes);
  for (int64_t step = 0; step < blocks.count() + 2; ++step) {
    const auto present = [&](int64_t block) { return block >= 0 && block < blocks.count(); };
    // A member's share of a block, in bytes: where it lies in a slot and, beside it, in a buffer.
    const auto share_of = [&](int64_t block, int member) {
      const auto begin = [&](int k) {
        return blocks.length(block) * k / members() * call.value_bytes;
      };
      const int64_t before = blocks.begin(block) * call.value_bytes;
      return ShareOfBlock{begin(member), before + begin(member), begin(member + 1) - begin(member)};
    };
    for (int k = 1; k < members(); ++k) {
      const int member = (self() + k) % members();
      if (present(step - 2)) {
        const ShareOfBlock share = share_of(step - 2, member);
        Copy(call.into + share.in_buffer, region_.slot(member, step - 2) + share.in_slot,
             share.bytes);
      }
      if (present(step)) {
        const ShareOfBlock share = share_of(step, member);
        Copy(region_.slot(self(), step) + share.in_slot, call.from + share.in_buffer, share.bytes);
      }
    }
    if (present(step - 1)) {
      const ShareOfBlock share = share_of(step - 1, self());
      for (int member = 0; member < members(); ++member) {
        froms_[member] = region_.slot(member, step - 1) + share.in_slot;
      }
      std::byte* const into[] = {region_.slot(self(), step - 1) + share.in_slot,
                                 call.into + share.in_buffer};
      froms_[self()] = call.from + share.in_buffer;
      CombineInOrderIntoAll(call.frame.type, call.op, into, froms_, share.bytes / call.value_bytes,
                            Stores::kCached);
    }
    if (step < blocks.count() + 1) RETURN_IF_ERROR(meeting_.Sync());
  }
  return absl::OkStatus();
}

// A slot holds a piece of every owner's block.
absl::Status SharedMemoryGroup::StageReduceScatter(const Call& call) {
  const int64_t most = std::max<int64_t>(1, options_.slot_bytes / call.value_bytes / call.owners);
  const Blocks pieces(call.blocks[0].length, most);
  for (int64_t piece = 0; piece < pieces.count(); ++piece) {
    const int64_t begin = pieces.begin(piece);
    for (int member = 0; member < call.owners; ++member) {
      const Segment& block = call.blocks[member];
      Copy(region_.slot(self(), piece) + member * most * call.value_bytes,
           call.from + (block.offset + begin) * call.value_bytes,
           std::min(block.length - begin, pieces.length(piece)) * call.value_bytes);
    }
    RETURN_IF_ERROR(meeting_.Sync());
    const int64_t length = std::min(call.into_count - begin, pieces.length(piece));
    if (length <= 0) continue;
    for (int member = 0; member < members(); ++member) {
      froms_[member] = region_.slot(member, piece) + self() * most * call.value_bytes;
    }
    std::byte* const into = call.into + begin * call.value_bytes;
    CombineInOrder(call.frame.type, call.op, into, froms_, length);
  }
  return absl::OkStatus();
}

absl::Status SharedMemoryGroup::StageAllGather(const Call& call) {
  const Blocks pieces(call.blocks[0].length, options_.slot_bytes / call.value_bytes);
  for (int64_t piece = 0; piece < pieces.count(); ++piece) {
    const int64_t begin = pieces.begin(piece);
    const auto bytes = [&](int member) {
      const int64_t length = std::min(call.blocks[member].length - begin, pieces.length(piece));
      return std::max<int64_t>(0, length) * call.value_bytes;
    };
    Copy(region_.slot(self(), piece), call.from + begin * call.value_bytes, bytes(self()));
    RETURN_IF_ERROR(meeting_.Sync());
    for (int k = 0; k < members(); ++k) {
      const int member = (self() + k) % members();
      Copy(call.into + (call.blocks[member].offset + begin) * call.value_bytes,
           region_.slot(member, piece), bytes(member));
    }
  }
  return absl::OkStatus();
}

absl::Status SharedMemoryGroup::StageBroadcast(const Call& call) {
  const Blocks pieces(call.from_count, options_.slot_bytes / call.value_bytes);
  for (int64_t piece = 0; piece < pieces.count(); ++piece) {
    const int64_t bytes = pieces.length(piece) * call.value_bytes;
    const int64_t offset = pieces.begin(piece) * call.value_bytes;
    if (self() == call.root) Copy(region_.slot(self(), piece), call.from + offset, bytes);
    RETURN_IF_ERROR(meeting_.Sync());
    if (self() != call.root) {
      Copy(call.into + offset, region_.slot(call.root, piece), bytes);
    } else if (call.into != call.from) {
      Copy(call.into + offset, call.from + offset, bytes);
    }
  }
  return absl::OkStatus();
}

}  // namespace crossover::allreduce
