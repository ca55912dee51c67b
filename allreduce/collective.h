// Collectives over an endpoint: runs a schedule (allreduce/schedule.h) with its
// segments cut into chunks; a chunk is reduced as soon as it is there, while the
// kernel still moves what it holds of the others. World size 1 is an identity.
//
// A message's operation code says what its sender is doing: 0xKASSSSSS with K the kind
// (1 AllReduce, 2 Broadcast), A the algorithm (1 ring, 2 direct, 3 chain) and S the step.
#ifndef CROSSOVER_ALLREDUCE_COLLECTIVE_H_
#define CROSSOVER_ALLREDUCE_COLLECTIVE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "allreduce/schedule.h"
#include "net/endpoint.h"

namespace crossover::allreduce {

enum class Algorithm {
  kRing,    // 2(N-1) steps; scratch of one chunk
  kDirect,  // sums in rank order; 2 steps of N-1 peers; scratch of N-1 chunks
};

struct CollectiveCounters {
  int64_t sent_bytes = 0;      // payload
  int64_t received_bytes = 0;  // payload
};

// Belongs to one thread at a time. All ranks are made alike and must make the same calls
// in the same order with the same lengths; if one does not, every rank's call of that
// collective ends with an error that names both sides, empty buffers included. Blocks
// no longer than the endpoint does. After an error it is of no more use.
class Collective {
 public:
  // `endpoint` is borrowed and outlives this. chunk_bytes > 0, a multiple of 4 (CHECK).
  Collective(net::Endpoint& endpoint, Algorithm algorithm, int64_t chunk_bytes);

  // values = sum over ranks, in place: the same bits on every rank. Of a buffer of M
  // bytes a rank sends and receives 2(N-1)/N M, as the schedule has it.
  absl::Status AllReduceSum(std::span<float> values);

  // Rank 0's values become everyone's, in place. A chain 0 -> 1 -> ... -> N-1: every rank
  // but the last sends M bytes, every one but the first receives M, chunk after chunk at
  // the same time. An empty message comes back from the last to the first, so that OK
  // means: all have it.
  absl::Status Broadcast(std::span<float> values);

  int rank() const { return endpoint_.rank(); }
  int world_size() const { return endpoint_.world_size(); }
  CollectiveCounters counters() const { return counters_; }

 private:
  absl::Status RunStep(const Step& step, const net::MessageTag& tag, std::span<float> values);
  absl::Status ExchangeChunk(const Step& step, int64_t chunk, const net::MessageTag& tag,
                             std::span<float> values);
  void SumInRankOrder(std::span<float> ours);
  std::span<float> Scratch(int index, int64_t length);
  absl::Status SendDownChain(const net::MessageTag& tag, std::span<float> values);
  absl::Status AnswerUpChain(const net::MessageTag& tag);
  absl::Status Exchange(const net::MessageTag& tag);  // sends_ and receives_

  Segment Chunk(const Segment& segment, int64_t chunk) const;
  int64_t ChunkCount(const Segment& segment) const;

  net::Endpoint& endpoint_;
  const Algorithm algorithm_;
  const int64_t chunk_values_;
  uint64_t sequence_ = 0;
  CollectiveCounters counters_;
  std::vector<std::vector<float>> scratch_;  // by peer, or [0] in the ring; at most a chunk each
  std::vector<net::SendOp> sends_;           // of the present exchange
  std::vector<net::ReceiveOp> receives_;
};

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_COLLECTIVE_H_
