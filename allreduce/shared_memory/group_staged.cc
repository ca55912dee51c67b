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

// In a slot of `length` values: where the member's share begins.
int64_t ShareBegin(int64_t length, int member, int members) { return length * member / members; }

}  // namespace

absl::Status SharedMemoryGroup::RunStaged(const Call& call) {
  switch (call.frame.kind) {
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
    CombineInOrder(call.frame.type, call.frame.op, call.into + offset, froms_, length);
  }
  return absl::OkStatus();
}

// In each step, of three blocks at once: values go in, our share of the block before is combined in
// our slot, and the shares of the one before that come out of all slots.
absl::Status SharedMemoryGroup::StageAllReduce(const Call& call) {
  const Blocks blocks(call.from_count, options_.slot_bytes / call.value_bytes);
  for (int64_t step = 0; step < blocks.count() + 2; ++step) {
    if (const int64_t block = step - 2; block >= 0) {
      std::byte* const into = call.into + blocks.begin(block) * call.value_bytes;
      for (int member = 0; member < members(); ++member) {
        const int64_t begin = ShareBegin(blocks.length(block), member, members());
        const int64_t end = ShareBegin(blocks.length(block), member + 1, members());
        const int64_t offset = begin * call.value_bytes;
        Copy(into + offset, region_.slot(member, block) + offset, (end - begin) * call.value_bytes);
      }
    }
    if (const int64_t block = step - 1; block >= 0 && block < blocks.count()) {
      const int64_t begin = ShareBegin(blocks.length(block), self(), members());
      const int64_t end = ShareBegin(blocks.length(block), self() + 1, members());
      for (int member = 0; member < members(); ++member) {
        froms_[member] = region_.slot(member, block) + begin * call.value_bytes;
      }
      std::byte* const ours = region_.slot(self(), block) + begin * call.value_bytes;
      CombineInOrder(call.frame.type, call.frame.op, ours, froms_, end - begin);
    }
    if (step < blocks.count()) {
      Copy(region_.slot(self(), step), call.from + blocks.begin(step) * call.value_bytes,
           blocks.length(step) * call.value_bytes);
    }
    if (step < blocks.count() + 1) RETURN_IF_ERROR(meeting_.Sync());
  }
  return absl::OkStatus();
}

// A slot holds a piece of every member's block.
absl::Status SharedMemoryGroup::StageReduceScatter(const Call& call) {
  const int64_t most = std::max<int64_t>(1, options_.slot_bytes / call.value_bytes / members());
  const Blocks pieces(call.into_count, most);
  for (int64_t piece = 0; piece < pieces.count(); ++piece) {
    const int64_t length = pieces.length(piece);
    const int64_t bytes = length * call.value_bytes;
    for (int member = 0; member < members(); ++member) {
      const int64_t begin = member * call.into_count + pieces.begin(piece);
      Copy(region_.slot(self(), piece) + member * bytes, call.from + begin * call.value_bytes,
           bytes);
    }
    RETURN_IF_ERROR(meeting_.Sync());
    for (int member = 0; member < members(); ++member) {
      froms_[member] = region_.slot(member, piece) + self() * bytes;
    }
    std::byte* const into = call.into + pieces.begin(piece) * call.value_bytes;
    CombineInOrder(call.frame.type, call.frame.op, into, froms_, length);
  }
  return absl::OkStatus();
}

absl::Status SharedMemoryGroup::StageAllGather(const Call& call) {
  const Blocks pieces(call.from_count, options_.slot_bytes / call.value_bytes);
  for (int64_t piece = 0; piece < pieces.count(); ++piece) {
    const int64_t bytes = pieces.length(piece) * call.value_bytes;
    const int64_t offset = pieces.begin(piece) * call.value_bytes;
    Copy(region_.slot(self(), piece), call.from + offset, bytes);
    RETURN_IF_ERROR(meeting_.Sync());
    for (int k = 0; k < members(); ++k) {
      const int member = (self() + k) % members();
      std::byte* const into = call.into + member * call.from_count * call.value_bytes + offset;
      Copy(into, region_.slot(member, piece), bytes);
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
