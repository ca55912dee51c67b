#include "allreduce/test_support.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "core/half.h"
#include "core/status.h"

namespace crossover::allreduce {
namespace {

int64_t ValueOf(int rank, int64_t index) { return (7 * index + int64_t{3} * rank) % 11 - 4; }

template <typename T>
void Put(std::vector<std::byte>& bytes, int64_t index, T value) {
  std::memcpy(bytes.data() + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// `numerator` / `denominator` as the type has it.
void PutQuotient(DataType type, std::vector<std::byte>& bytes, int64_t index, int64_t numerator,
                 int64_t denominator) {
  const float in_fp32 = static_cast<float>(numerator) / static_cast<float>(denominator);
  switch (type) {
    case DataType::kFloat32:
      return Put(bytes, index, in_fp32);
    case DataType::kFloat16:
      return Put(bytes, index, FloatToFloat16(in_fp32));
    case DataType::kBfloat16:
      return Put(bytes, index, FloatToBfloat16(in_fp32));
    case DataType::kFloat64:
      return Put(bytes, index, static_cast<double>(numerator) / static_cast<double>(denominator));
    case DataType::kInt32:
      return Put(bytes, index, static_cast<int32_t>(numerator / denominator));
    case DataType::kInt64:
      return Put(bytes, index, numerator / denominator);
  }
}

}  // namespace

Buffers RandomBuffers(int world_size, int64_t length, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(-12, 12);
  Buffers buffers(world_size, std::vector<float>(length));
  for (std::vector<float>& buffer : buffers) {
    for (float& value : buffer) value = std::ldexp(mantissa(random), exponent(random));
  }
  return buffers;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

std::vector<std::byte> InputOf(DataType type, int rank, int64_t count) {
  std::vector<std::byte> bytes(count * BytesOf(type));
  for (int64_t i = 0; i < count; ++i) PutQuotient(type, bytes, i, ValueOf(rank, i), 1);
  return bytes;
}

std::vector<std::byte> ReductionOf(DataType type, ReduceOp op, int world_size, int64_t count) {
  std::vector<std::byte> bytes(count * BytesOf(type));
  for (int64_t i = 0; i < count; ++i) {
    int64_t sum = 0;
    int64_t low = ValueOf(0, i);
    int64_t high = low;
    for (int rank = 0; rank < world_size; ++rank) {
      sum += ValueOf(rank, i);
      low = std::min(low, ValueOf(rank, i));
      high = std::max(high, ValueOf(rank, i));
    }
    const int64_t value = op == ReduceOp::kMin ? low : op == ReduceOp::kMax ? high : sum;
    PutQuotient(type, bytes, i, value, op == ReduceOp::kAverage ? world_size : 1);
  }
  return bytes;
}

std::vector<absl::Status> RunRanks(Endpoints& endpoints,
                                   const std::function<absl::Status(net::Endpoint&)>& work) {
  std::vector<absl::Status> statuses(endpoints.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < endpoints.size(); ++rank) {
    threads.emplace_back([&, rank] {
      statuses[rank] = work(*endpoints[rank]);
      if (!statuses[rank].ok()) endpoints[rank].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return statuses;
}

Communicator::Options TestOptions(Algorithm algorithm) {
  Communicator::Options options;
  options.engine.silence_s = 60;
  options.choose = [algorithm](Kind kind, const Place&, int64_t) {
    const std::vector<Algorithm> known = AlgorithmsOf(kind);
    const bool has = std::find(known.begin(), known.end(), algorithm) != known.end();
    return has ? algorithm : known.front();
  };
  return options;
}

SharingRank::SharingRank(net::Endpoint& endpoint, const Options& options, const Clock& clock)
    : communicator_(
          endpoint,
          [&] {
            Communicator::Options own = TestOptions(options.algorithm);
            own.engine.silence_s = options.silence_s;
            own.engine.spin_rounds = 20;
            own.engine.yield = true;
            return own;
          }(),
          clock) {}

absl::StatusOr<std::unique_ptr<SharingRank>> SharingRank::Open(net::Endpoint& endpoint,
                                                               const Options& options,
                                                               const Clock& clock) {
  std::unique_ptr<SharingRank> rank(new SharingRank(endpoint, options, clock));
  SharedMemoryGroup::Options group;
  group.small_bytes_max = 256;
  group.slot_bytes = 4096;
  group.ring_grace_s = options.ring_grace_s;
  group.meeting.spin_rounds = 20;
  group.meeting.yield = true;
  group.meeting.silence_s = options.silence_s;
  const int host = options.host_of[endpoint.rank()];
  ASSIGN_OR_RETURN(rank->sharing_, ShareHost(rank->communicator_, static_cast<uint64_t>(host),
                                             group, rank->registry_, clock));
  rank->communicator_.SetHosts(rank->sharing_.host_of);
  if (rank->sharing_.group != nullptr) rank->communicator_.UseSharedMemory(*rank->sharing_.group);
  return rank;
}

std::string TestName(Kind kind, Algorithm algorithm) {
  std::string name = NameOf(kind);
  bool upper = true;
  for (const char c : std::string(NameOf(algorithm))) {
    if (c == '_') {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(std::toupper(c)) : c;
    upper = false;
  }
  return name;
}

}  // namespace crossover::allreduce
