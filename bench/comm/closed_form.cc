#include "bench/comm/closed_form.h"

#include <bit>
#include <cstring>

#include "core/half.h"

namespace crossover::bench {
namespace {

using allreduce::Kind;

// Whole numbers up to here are exact in the type.
int64_t ExactMax(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return 1 << 11;
    case DataType::kBfloat16:
      return 1 << 8;
    default:
      return 1 << 24;
  }
}

// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

uint64_t MixedOf(int64_t index, uint32_t fill) {
  return Mix(static_cast<uint64_t>(index) ^ (static_cast<uint64_t>(fill) << 48));
}

// numerator / denominator as the type's bits.
uint64_t BitsOf(DataType type, int64_t numerator, int64_t denominator) {
  const float in_fp32 = static_cast<float>(numerator) / static_cast<float>(denominator);
  switch (type) {
    case DataType::kFloat32:
      return std::bit_cast<uint32_t>(in_fp32);
    case DataType::kFloat16:
      return FloatToFloat16(in_fp32);
    case DataType::kBfloat16:
      return FloatToBfloat16(in_fp32);
    case DataType::kFloat64:
      return std::bit_cast<uint64_t>(static_cast<double>(numerator) /
                                     static_cast<double>(denominator));
    case DataType::kInt32:
      return static_cast<uint32_t>(numerator / denominator);
    case DataType::kInt64:
      return static_cast<uint64_t>(numerator / denominator);
  }
  return 0;
}

template <typename Bits>
Bits At(const std::byte* values, int64_t index) {
  Bits bits;
  std::memcpy(&bits, values + index * static_cast<int64_t>(sizeof(Bits)), sizeof(Bits));
  return bits;
}

}  // namespace

ClosedForm::ClosedForm(Kind op, DataType type, ReduceOp reduce, int world_size, int root)
    : op_(op), type_(type), world_size_(world_size), root_(root) {
  const int64_t room = ExactMax(type) / 2 / world_size;  // of each value, for half of the sum
  while (bases_ * 2 <= room && bases_ < 256) bases_ *= 2;
  while (weights_ < world_size && weights_ < room) ++weights_;
  for (int64_t value = 0; value < bases_ + weights_; ++value) {
    input_bits_.push_back(BitsOf(type, value, 1));
  }
  // Each rank has one of the weights k % weights_, k < N; which one depends on the index.
  int64_t sum_of_weights = 0;
  for (int k = 0; k < world_size; ++k) sum_of_weights += k % weights_;
  for (int64_t base = 0; base < bases_; ++base) {
    const int64_t sum = base * world_size + sum_of_weights;
    switch (reduce) {
      case ReduceOp::kSum:
        result_bits_.push_back(BitsOf(type, sum, 1));
        break;
      case ReduceOp::kAverage:
        result_bits_.push_back(BitsOf(type, sum, world_size));
        break;
      case ReduceOp::kMin:
        result_bits_.push_back(BitsOf(type, base, 1));
        break;
      case ReduceOp::kMax:
        result_bits_.push_back(BitsOf(type, base + weights_ - 1, 1));
        break;
    }
  }
}

int64_t ClosedForm::InputLength(int64_t count) const {
  return op_ == Kind::kReduceScatter ? count * world_size_ : count;
}

int64_t ClosedForm::OutputLength(int64_t count) const {
  return op_ == Kind::kAllGather ? count * world_size_ : count;
}

int64_t ClosedForm::Weight(uint64_t mixed, int rank) const {
  const auto turn =
      static_cast<int64_t>(((mixed >> 32) * static_cast<uint64_t>(world_size_)) >> 32);
  int64_t place = turn + rank;
  if (place >= world_size_) place -= world_size_;
  return weights_ == world_size_ ? place : place % weights_;
}

template <typename Visit>
auto ClosedForm::WithBits(Visit visit) const {
  switch (BytesOf(type_)) {
    case 2:
      return visit(uint16_t{});
    case 4:
      return visit(uint32_t{});
    default:
      return visit(uint64_t{});
  }
}

// visit(i, bits) for each value of the rank's input. An AllGather's blocks lie behind each other.
template <typename Bits, typename Visit>
void ClosedForm::EachInput(int rank, uint32_t fill, int64_t count, Visit visit) const {
  const int64_t first = op_ == Kind::kAllGather ? rank * count : 0;
  const int64_t length = InputLength(count);
  for (int64_t i = 0; i < length; ++i) {
    const uint64_t mixed = MixedOf(first + i, fill);
    const auto base = static_cast<int64_t>(mixed & static_cast<uint64_t>(bases_ - 1));
    visit(i, static_cast<Bits>(input_bits_[base + Weight(mixed, rank)]));
  }
}

void ClosedForm::FillInput(int rank, uint32_t fill, int64_t count, std::byte* input) const {
  WithBits([&]<typename Bits>(Bits) {
    EachInput<Bits>(rank, fill, count, [&](int64_t i, Bits bits) {
      std::memcpy(input + i * static_cast<int64_t>(sizeof(Bits)), &bits, sizeof(Bits));
    });
  });
}

int64_t ClosedForm::CountWrongInput(int rank, uint32_t fill, int64_t count,
                                    const std::byte* input) const {
  int64_t wrong = 0;
  WithBits([&]<typename Bits>(Bits) {
    EachInput<Bits>(rank, fill, count,
                    [&](int64_t i, Bits bits) { wrong += At<Bits>(input, i) != bits; });
  });
  return wrong;
}

template <typename Bits>
int64_t ClosedForm::CountWrongBits(int rank, uint32_t fill, int64_t count,
                                   const std::byte* output) const {
  int64_t wrong = 0;
  if (op_ == Kind::kAllGather) {
    for (int from = 0; from < world_size_; ++from) {
      const std::byte* block = output + from * count * static_cast<int64_t>(sizeof(Bits));
      wrong += CountWrongInput(from, fill, count, block);
    }
    return wrong;
  }
  if (op_ == Kind::kBroadcast) return CountWrongInput(root_, fill, count, output);
  const int64_t first = op_ == Kind::kReduceScatter ? rank * count : 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t mixed = MixedOf(first + i, fill);
    wrong += At<Bits>(output, i) !=
             static_cast<Bits>(result_bits_[mixed & static_cast<uint64_t>(bases_ - 1)]);
  }
  return wrong;
}

int64_t ClosedForm::CountWrongOutput(int rank, uint32_t fill, int64_t count,
                                     const std::byte* output) const {
  return WithBits(
      [&]<typename Bits>(Bits) { return CountWrongBits<Bits>(rank, fill, count, output); });
}

}  // namespace crossover::bench
