#include "bench/comm/closed_form.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/combine.h"

namespace crossover::bench {
namespace {

using allreduce::Kind;

constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat16, DataType::kBfloat16,
                               DataType::kFloat64, DataType::kInt32,   DataType::kInt64};
constexpr ReduceOp kReduces[] = {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin,
                                 ReduceOp::kMax};
constexpr int64_t kCount = 1001;

using Bytes = std::vector<std::byte>;

Bytes InputOf(const ClosedForm& form, DataType type, int rank, uint32_t fill, int64_t count) {
  Bytes input(form.InputLength(count) * BytesOf(type));
  form.FillInput(rank, fill, count, input.data());
  return input;
}

// All ranks' inputs, combined in order by the library's own arithmetic.
Bytes Reduced(const ClosedForm& form, DataType type, ReduceOp reduce, int ranks, uint32_t fill,
              int64_t count) {
  std::vector<Bytes> inputs;
  std::vector<const std::byte*> parts;
  for (int rank = 0; rank < ranks; ++rank) {
    inputs.push_back(InputOf(form, type, rank, fill, count));
  }
  for (const Bytes& input : inputs) parts.push_back(input.data());
  Bytes result(inputs[0].size());
  CombineInOrder(type, reduce, result.data(), parts,
                 static_cast<int64_t>(result.size() / BytesOf(type)));
  return result;
}

TEST(ClosedForm, AgreesWithTheArithmeticOfEveryTypeAndReduction) {
  for (const DataType type : kTypes) {
    for (const ReduceOp reduce : kReduces) {
      for (const int ranks : {1, 2, 3, 8, 64}) {
        SCOPED_TRACE(testing::Message() << NameOf(type) << " " << NameOf(reduce) << " " << ranks);
        const ClosedForm form(Kind::kAllReduce, type, reduce, ranks);
        const Bytes result = Reduced(form, type, reduce, ranks, 1, kCount);
        EXPECT_EQ(form.CountWrongOutput(0, 1, kCount, result.data()), 0);
      }
    }
  }
}

TEST(ClosedForm, ReduceScatterHasTheRanksBlock) {
  const ClosedForm form(Kind::kReduceScatter, DataType::kInt32, ReduceOp::kSum, 3);
  EXPECT_EQ(form.InputLength(kCount), 3 * kCount);
  const Bytes result = Reduced(form, DataType::kInt32, ReduceOp::kSum, 3, 5, kCount);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(form.CountWrongOutput(rank, 5, kCount, result.data() + rank * kCount * 4), 0);
  }
  EXPECT_GT(form.CountWrongOutput(0, 5, kCount, result.data() + kCount * 4), kCount / 2);
}

TEST(ClosedForm, AllGatherAndBroadcastHaveInputs) {
  const ClosedForm gather(Kind::kAllGather, DataType::kFloat16, ReduceOp::kSum, 2);
  Bytes gathered = InputOf(gather, DataType::kFloat16, 0, 1, kCount);
  const Bytes second = InputOf(gather, DataType::kFloat16, 1, 1, kCount);
  gathered.insert(gathered.end(), second.begin(), second.end());
  EXPECT_EQ(gather.OutputLength(kCount), 2 * kCount);
  EXPECT_EQ(gather.CountWrongOutput(1, 1, kCount, gathered.data()), 0);

  const ClosedForm broadcast(Kind::kBroadcast, DataType::kFloat64, ReduceOp::kSum, 3, /*root=*/2);
  const Bytes root = InputOf(broadcast, DataType::kFloat64, 2, 1, kCount);
  EXPECT_EQ(broadcast.CountWrongOutput(0, 1, kCount, root.data()), 0);
  const Bytes other = InputOf(broadcast, DataType::kFloat64, 0, 1, kCount);
  EXPECT_GT(broadcast.CountWrongOutput(0, 1, kCount, other.data()), kCount / 2);
}

class Spoiled : public testing::Test {
 protected:
  Spoiled()
      : form_(Kind::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 4),
        right_(Reduced(form_, DataType::kFloat32, ReduceOp::kSum, 4, 1, kCount)) {}
  int64_t Wrong(const Bytes& bytes) const {
    return form_.CountWrongOutput(0, 1, kCount, bytes.data());
  }

  const ClosedForm form_;
  const Bytes right_;
};

TEST_F(Spoiled, OneBitOfOneElement) {
  for (const int64_t element : {int64_t{0}, int64_t{500}, kCount - 1}) {
    Bytes bytes = right_;
    bytes[element * 4] ^= std::byte{1};
    EXPECT_EQ(Wrong(bytes), 1) << element;
  }
}

TEST_F(Spoiled, ResultOfAnEarlierCall) {
  EXPECT_GT(Wrong(Reduced(form_, DataType::kFloat32, ReduceOp::kSum, 4, 2, kCount)), kCount / 2);
}

TEST_F(Spoiled, ShiftedByAnyNumberOfElements) {
  for (int64_t shift = 1; shift < 64; ++shift) {
    Bytes bytes = right_;
    std::memmove(bytes.data() + shift * 4, right_.data(), (kCount - shift) * 4);
    EXPECT_GT(Wrong(bytes), kCount / 2) << shift;
  }
}

TEST_F(Spoiled, ARankThatCountsTwiceInPlaceOfAnother) {
  for (int missing = 0; missing < 4; ++missing) {
    for (int twice = 0; twice < 4; ++twice) {
      if (twice == missing) continue;
      Bytes bytes(right_.size());
      std::vector<Bytes> inputs;
      std::vector<const std::byte*> parts;
      for (int rank = 0; rank < 4; ++rank) {
        const int from = rank == missing ? twice : rank;
        inputs.push_back(InputOf(form_, DataType::kFloat32, from, 1, kCount));
      }
      for (const Bytes& input : inputs) parts.push_back(input.data());
      CombineInOrder(DataType::kFloat32, ReduceOp::kSum, bytes.data(), parts, kCount);
      EXPECT_EQ(Wrong(bytes), kCount) << missing << " " << twice;
    }
  }
}

}  // namespace
}  // namespace crossover::bench
