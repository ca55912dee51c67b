#include "allreduce/replay.h"

#include <cstring>
#include <map>

#include "core/check.h"
#include "core/combine.h"

namespace crossover::allreduce {
namespace {

struct Arithmetic {
  DataType type;
  ReduceOp op;
  int contributions;
};

std::byte* At(Bytes& buffer, const Segment& segment, DataType type) {
  return buffer.data() + segment.offset * static_cast<int64_t>(BytesOf(type));
}

Bytes Copy(Bytes& buffer, const Segment& segment, DataType type) {
  const std::byte* begin = At(buffer, segment, type);
  return Bytes(begin, begin + segment.length * static_cast<int64_t>(BytesOf(type)));
}

// Combines what came, by peer, into `ours` in the order of the ranks.
void CombineRanks(int rank, const std::map<int, Bytes>& received, const Segment& segment,
                  ReduceOp op, DataType type, Bytes& ours) {
  std::map<int, const std::byte*> by_rank = {{rank, At(ours, segment, type)}};
  for (const auto& [peer, bytes] : received) by_rank[peer] = bytes.data();
  std::vector<const std::byte*> parts;
  for (const auto& [part_rank, part] : by_rank) parts.push_back(part);
  CombineInOrder(type, op, At(ours, segment, type), parts, segment.length);
}

// What the step does to `ours`, given what came from each peer.
void Apply(const Step& step, int rank, const std::map<int, Bytes>& received,
           const Arithmetic& arithmetic, Bytes& ours) {
  const auto& [type, op, contributions] = arithmetic;
  const bool average = op == ReduceOp::kAverage;
  if (step.action == Action::kReduceRankOrder) {
    if (step.receives.empty()) return;
    CROSSOVER_CHECK(!step.completes || static_cast<int>(received.size()) + 1 == contributions,
                    "a whole reduction holds every rank");
    CombineRanks(rank, received, step.receives[0].segment,
                 average && !step.completes ? ReduceOp::kSum : op, type, ours);
    return;
  }
  for (const auto& [peer, segment] : step.receives) {
    const Bytes& bytes = received.at(peer);
    std::byte* into = At(ours, segment, type);
    if (step.action == Action::kReduce) {
      Combine(type, op, into, bytes.data(), segment.length);
      if (average && step.completes) FinishAverage(type, into, segment.length, contributions);
    } else if (!bytes.empty()) {
      std::memcpy(into, bytes.data(), bytes.size());
    }
  }
}

}  // namespace

std::vector<Bytes> Replay(const std::vector<Schedule>& schedules, DataType type, ReduceOp op,
                          std::vector<Bytes> buffers) {
  CROSSOVER_CHECK(schedules.size() == buffers.size(), "a buffer a rank");
  const int world_size = static_cast<int>(schedules.size());
  const Arithmetic arithmetic{type, op, world_size};
  for (size_t k = 0; world_size > 0 && k < schedules[0].size(); ++k) {
    std::vector<std::map<int, Bytes>> in_flight(world_size);  // [receiver][sender]
    for (int rank = 0; rank < world_size; ++rank) {
      for (const auto& [peer, segment] : schedules[rank][k].sends) {
        in_flight[peer][rank] = Copy(buffers[rank], segment, type);
      }
    }
    for (int rank = 0; rank < world_size; ++rank) {
      const Step& step = schedules[rank][k];
      for (const auto& [peer, segment] : step.receives) {
        const auto sent = in_flight[rank].find(peer);
        CROSSOVER_CHECK(sent != in_flight[rank].end(), "what is received has been sent");
        CROSSOVER_CHECK(sent->second.size() == segment.length * BytesOf(type),
                        "both ends of a transfer mean the same length");
      }
      CROSSOVER_CHECK(in_flight[rank].size() == step.receives.size(), "what is sent is received");
      Apply(step, rank, in_flight[rank], arithmetic, buffers[rank]);
    }
  }
  return buffers;
}

std::vector<std::vector<float>> Replay(const std::vector<Schedule>& schedules,
                                       const std::vector<std::vector<float>>& buffers) {
  std::vector<Bytes> bytes;
  for (const std::vector<float>& values : buffers) {
    const auto* begin = reinterpret_cast<const std::byte*>(values.data());
    bytes.emplace_back(begin, begin + values.size() * sizeof(float));
  }
  bytes = Replay(schedules, DataType::kFloat32, ReduceOp::kSum, std::move(bytes));
  std::vector<std::vector<float>> results = buffers;
  for (size_t rank = 0; rank < results.size(); ++rank) {
    if (results[rank].empty()) continue;
    std::memcpy(results[rank].data(), bytes[rank].data(), bytes[rank].size());
  }
  return results;
}

}  // namespace crossover::allreduce
