// Inputs of collectives for which every element of every result is known in closed form, and the
// count of the elements that are wrong. Each value depends on its index, its rank and the fill, so
// that a value from another place, a rank that counts twice or not at all, and a result of an
// earlier call all show; all values are small whole numbers, so that sums are exact in every type
// and order. Pure, thread-safe.
#ifndef CROSSOVER_BENCH_COMM_CLOSED_FORM_H_
#define CROSSOVER_BENCH_COMM_CLOSED_FORM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "allreduce/algorithms.h"
#include "core/data_type.h"

namespace crossover::bench {

class ClosedForm {
 public:
  ClosedForm(allreduce::Kind op, DataType type, ReduceOp reduce, int world_size, int root = 0);

  // `count` as allreduce::Communicator::Request has it: a ReduceScatter's input and an AllGather's
  // output have N times as many values.
  int64_t InputLength(int64_t count) const;
  int64_t OutputLength(int64_t count) const;

  void FillInput(int rank, uint32_t fill, int64_t count, std::byte* input) const;
  int64_t CountWrongInput(int rank, uint32_t fill, int64_t count, const std::byte* input) const;
  int64_t CountWrongOutput(int rank, uint32_t fill, int64_t count, const std::byte* output) const;

 private:
  int64_t Weight(uint64_t mixed, int rank) const;
  template <typename Bits, typename Visit>
  void EachInput(int rank, uint32_t fill, int64_t count, Visit visit) const;
  template <typename Bits>
  int64_t CountWrongBits(int rank, uint32_t fill, int64_t count, const std::byte* output) const;
  template <typename Visit>
  auto WithBits(Visit visit) const;

  const allreduce::Kind op_;
  const DataType type_;
  const int world_size_;
  const int root_;
  int64_t bases_ = 1;    // a power of two: a value is base + weight, the base of its index alone
  int64_t weights_ = 1;  // the weight of its index and its rank
  std::vector<uint64_t> input_bits_;   // by value, as the type has it
  std::vector<uint64_t> result_bits_;  // by base: the reduction of all ranks' values
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_CLOSED_FORM_H_
