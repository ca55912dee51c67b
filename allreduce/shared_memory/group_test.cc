// What collectives through shared memory give, with ranks in threads.
#include "allreduce/shared_memory/group.h"

#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "allreduce/shared_memory/test_support.h"
#include "core/combine.h"
#include "core/half.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover::allreduce {
namespace {

using Bytes = std::vector<std::byte>;

enum class Memory { kPrivate, kShared, kMixed };  // mixed: rank 0's is private

// Values of a rank, of both signs and such that the order of a sum shows in its last bits.
Bytes Values(DataType type, int64_t count, int rank) {
  Bytes bytes(count * BytesOf(type));
  std::vector<float> floats(count);
  for (int64_t i = 0; i < count; ++i) {
    floats[i] = static_cast<float>((i * 7919 + rank * 104729) % 10007 - 5000) * 0.37f;
  }
  for (int64_t i = 0; i < count; ++i) {
    auto put = [&](auto value) { std::memcpy(&bytes[i * sizeof(value)], &value, sizeof(value)); };
    switch (type) {
      case DataType::kFloat32:
        put(floats[i]);
        break;
      case DataType::kFloat16:
        put(FloatToFloat16(floats[i]));
        break;
      case DataType::kBfloat16:
        put(FloatToBfloat16(floats[i]));
        break;
      case DataType::kFloat64:
        put(floats[i] / 3.0);
        break;
      case DataType::kInt32:
        put(static_cast<int32_t>(floats[i]));
        break;
      case DataType::kInt64:
        put(static_cast<int64_t>(floats[i]) * 1'000'000'007);
        break;
    }
  }
  return bytes;
}

Bytes Reduced(DataType type, ReduceOp op, int64_t count, int ranks) {
  std::vector<Bytes> values;
  std::vector<const std::byte*> parts;
  for (int rank = 0; rank < ranks; ++rank) values.push_back(Values(type, count, rank));
  for (const Bytes& value : values) parts.push_back(value.data());
  Bytes result(count * BytesOf(type));
  CombineInOrder(type, op, result.data(), parts, count);
  return result;
}

// A buffer of a rank, at an odd place of its own kind of memory.
class Buffer {
 public:
  Buffer(TestRank& rank, Memory memory, size_t bytes, size_t shift) : bytes_(bytes) {
    if (memory == Memory::kPrivate || (memory == Memory::kMixed && rank.rank == 0)) {
      own_.resize(bytes + shift + 1);
      data_ = own_.data() + shift;
    } else {
      registry_ = &rank.registry;
      const auto room = rank.registry.Allocate("values", bytes + shift);
      EXPECT_TRUE(room.ok()) << room.status();
      room_ = *room;
      data_ = room_ + shift;
    }
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() {
    if (registry_ != nullptr) registry_->Free(room_);
  }
  std::byte* data() { return data_; }
  void Fill(const Bytes& values) {
    if (!values.empty()) std::memcpy(data_, values.data(), values.size());
  }
  Bytes Value() const { return Bytes(data_, data_ + bytes_); }

 private:
  size_t bytes_;
  Bytes own_;
  os::SharedBufferRegistry* registry_ = nullptr;
  std::byte* room_ = nullptr;
  std::byte* data_;
};

void ExpectOk(const std::vector<absl::Status>& statuses) {
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
}

// Below and above what fits an announcement and a slot, of every type, and not a multiple of
// anything.
constexpr int64_t kCounts[] = {0, 1, 2, 3, 31, 64, 65, 127, 129, 255, 256, 257, 1000, 5003};

class GroupTest : public testing::TestWithParam<std::tuple<int, Memory>> {
 protected:
  int ranks() const { return std::get<0>(GetParam()); }
  Memory memory() const { return std::get<1>(GetParam()); }
};

absl::Status AllReduceEverything(TestRank& rank, int ranks, Memory memory) {
  uint64_t sequence = 0;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kBfloat16,
                              DataType::kFloat64, DataType::kInt32, DataType::kInt64}) {
    for (const int64_t count : kCounts) {
      const auto op = static_cast<ReduceOp>(1 + sequence % 4);
      const size_t bytes = count * BytesOf(type);
      const Bytes values = Values(type, count, rank.rank);
      const Bytes expected = Reduced(type, op, count, ranks);
      for (const bool in_place : {true, false}) {
        Buffer from(rank, memory, bytes, 8 * (sequence % 3));
        Buffer into(rank, memory, bytes, 5);
        from.Fill(values);
        const Frame frame = FrameOf(Kind::kAllReduce, type, op, count, ++sequence);
        Buffer& result = in_place ? from : into;
        const absl::Status status = rank.group.Run(frame, from.data(), result.data());
        if (!status.ok()) return status;
        EXPECT_EQ(result.Value(), expected) << Describe(frame) << " at rank " << rank.rank;
        if (!in_place) {
          EXPECT_EQ(from.Value(), values) << Describe(frame);
        }
      }
    }
  }
  const SharedMemoryGroup::PathCounts& paths = rank.group.path_counts();
  if (ranks > 1) {
    EXPECT_GT(paths.small, 20);
    EXPECT_EQ(paths.fused > 20, memory == Memory::kShared);
    EXPECT_EQ(paths.staged > 20, memory != Memory::kShared);
  }
  return absl::OkStatus();
}

TEST_P(GroupTest, AllReduceGivesEveryRankTheSameBits) {
  ExpectOk(RunRanks(SmallOptions(ranks()),
                    [&](TestRank& rank) { return AllReduceEverything(rank, ranks(), memory()); }));
}

TEST_P(GroupTest, ReduceScatterGivesEachItsBlock) {
  ExpectOk(RunRanks(SmallOptions(ranks()), [&](TestRank& rank) {
    uint64_t sequence = 0;
    for (const DataType type : {DataType::kFloat32, DataType::kBfloat16, DataType::kInt64}) {
      for (const int64_t block : kCounts) {
        const int64_t count = block * ranks();
        const size_t bytes = block * BytesOf(type);
        const Bytes reduced = Reduced(type, ReduceOp::kAverage, count, ranks());
        const Bytes expected(reduced.begin() + rank.rank * bytes,
                             reduced.begin() + (rank.rank + 1) * bytes);
        const Frame frame =
            FrameOf(Kind::kReduceScatter, type, ReduceOp::kAverage, count, ++sequence);
        Buffer from(rank, memory(), count * BytesOf(type), 4);
        Buffer into(rank, Memory::kPrivate, bytes, 3);
        from.Fill(Values(type, count, rank.rank));
        absl::Status status = rank.group.Run(frame, from.data(), into.data());
        if (!status.ok()) return status;
        EXPECT_EQ(into.Value(), expected) << Describe(frame);
        std::byte* const place = from.data() + rank.rank * bytes;
        status = rank.group.Run(frame, from.data(), place);
        if (!status.ok()) return status;
        EXPECT_EQ(Bytes(place, place + bytes), expected) << Describe(frame) << " in place";
      }
    }
    return absl::OkStatus();
  }));
}

TEST_P(GroupTest, AllGatherGivesAllBlocksToAll) {
  ExpectOk(RunRanks(SmallOptions(ranks()), [&](TestRank& rank) {
    uint64_t sequence = 0;
    for (const DataType type : {DataType::kFloat16, DataType::kFloat64}) {
      for (const int64_t block : kCounts) {
        const size_t bytes = block * BytesOf(type);
        Bytes expected;
        for (int member = 0; member < ranks(); ++member) {
          const Bytes values = Values(type, block, member);
          expected.insert(expected.end(), values.begin(), values.end());
        }
        const Frame frame =
            FrameOf(Kind::kAllGather, type, ReduceOp::kSum, block * ranks(), ++sequence);
        Buffer from(rank, memory(), bytes, 0);
        Buffer into(rank, memory(), expected.size(), 2);
        from.Fill(Values(type, block, rank.rank));
        absl::Status status = rank.group.Run(frame, from.data(), into.data());
        if (!status.ok()) return status;
        EXPECT_EQ(into.Value(), expected) << Describe(frame);
        into.Fill(Bytes(expected.size()));
        std::byte* const place = into.data() + rank.rank * bytes;
        if (bytes > 0) std::memcpy(place, from.data(), bytes);
        status = rank.group.Run(frame, place, into.data());
        if (!status.ok()) return status;
        EXPECT_EQ(into.Value(), expected) << Describe(frame) << " in place";
      }
    }
    return absl::OkStatus();
  }));
}

TEST_P(GroupTest, BroadcastAndBarrier) {
  ExpectOk(RunRanks(SmallOptions(ranks()), [&](TestRank& rank) {
    uint64_t sequence = 0;
    for (const int64_t count : kCounts) {
      for (int root = 0; root < ranks(); ++root) {
        const Bytes expected = Values(DataType::kInt32, count, root);
        Frame frame =
            FrameOf(Kind::kBroadcast, DataType::kInt32, ReduceOp::kSum, count, ++sequence);
        frame.root = static_cast<uint32_t>(root);
        Buffer from(rank, memory(), expected.size(), 0);
        Buffer into(rank, memory(), expected.size(), 1);
        from.Fill(Values(DataType::kInt32, count, rank.rank));
        absl::Status status =
            rank.group.Run(frame, rank.rank == root ? from.data() : nullptr, into.data());
        if (!status.ok()) return status;
        EXPECT_EQ(into.Value(), expected) << Describe(frame);
        status = rank.group.Run(frame, from.data(), from.data());
        if (!status.ok()) return status;
        EXPECT_EQ(from.Value(), expected) << Describe(frame) << " in place";
        status = rank.group.Run(
            FrameOf(Kind::kBarrier, DataType::kFloat32, ReduceOp::kSum, 0, ++sequence), nullptr,
            nullptr);
        if (!status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }));
}

std::string NameOf(const testing::TestParamInfo<std::tuple<int, Memory>>& info) {
  const char* const memories[] = {"Private", "Shared", "Mixed"};
  return memories[static_cast<int>(std::get<1>(info.param))] +
         std::to_string(std::get<0>(info.param));
}

INSTANTIATE_TEST_SUITE_P(, GroupTest,
                         testing::Combine(testing::Values(1, 2, 3, 4, 8),
                                          testing::Values(Memory::kPrivate, Memory::kShared,
                                                          Memory::kMixed)),
                         NameOf);

TEST(SharedMemoryGroupTest, RanksOfOneHostAmongOthers) {
  SharedMemoryGroup::Options options = SmallOptions(3);
  options.ranks = {2, 3, 7};
  ExpectOk(RunRanks(options, [&](TestRank& rank) {
    const int32_t from = rank.rank;
    int32_t into = 0;
    const absl::Status status = rank.group.Run(
        FrameOf(Kind::kAllReduce, DataType::kInt32, ReduceOp::kSum, 1, 1),
        reinterpret_cast<const std::byte*>(&from), reinterpret_cast<std::byte*>(&into));
    EXPECT_EQ(into, 12);
    return status;
  }));
}

// Buffers come and go under the same descriptors: a mapping of an old one must not be used.
TEST(SharedMemoryGroupTest, ABufferThatTakesAnothersPlace) {
  ExpectOk(RunRanks(SmallOptions(2), [&](TestRank& rank) {
    for (uint64_t round = 0; round < 50; ++round) {
      const int64_t count = 100 + static_cast<int64_t>(round);
      Buffer values(rank, Memory::kShared, count * 4, 0);
      values.Fill(Values(DataType::kInt32, count, rank.rank));
      const absl::Status status =
          rank.group.Run(FrameOf(Kind::kAllReduce, DataType::kInt32, ReduceOp::kSum, count, round),
                         values.data(), values.data());
      if (!status.ok()) return status;
      EXPECT_EQ(values.Value(), Reduced(DataType::kInt32, ReduceOp::kSum, count, 2));
    }
    EXPECT_EQ(rank.group.path_counts().fused, 50);
    return absl::OkStatus();
  }));
}

}  // namespace
}  // namespace crossover::allreduce
