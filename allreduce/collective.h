// Collectives over an endpoint: runs a schedule (allreduce/schedule.h) with its
// segments cut into chunks, so that a chunk is reduced while the kernel moves the
// next. World size 1 and empty buffers are identities.
#ifndef CROSSOVER_ALLREDUCE_COLLECTIVE_H_
#define CROSSOVER_ALLREDUCE_COLLECTIVE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "net/endpoint.h"

namespace crossover::allreduce {

enum class Algorithm { kRing, kDirect };

struct CollectiveCounters {
  int64_t sent_bytes = 0;      // payload
  int64_t received_bytes = 0;  // payload
};

// Belongs to one thread at a time. All ranks must make the same calls in the same
// order with the same lengths; a rank that does not is found by the message tags,
// and all end with an error that names both sides.
class Collective {
 public:
  // `endpoint` is borrowed and outlives this. chunk_bytes > 0, a multiple of 4.
  Collective(net::Endpoint& endpoint, Algorithm algorithm, int64_t chunk_bytes);

  // values = sum over ranks, in place. Blocks.
  absl::Status AllReduceSum(std::span<float> values);
  // Rank 0's values become everyone's, in place. Blocks.
  absl::Status Broadcast(std::span<float> values);

  int rank() const;
  int world_size() const;
  CollectiveCounters counters() const { return counters_; }

 private:
  net::Endpoint& endpoint_;
  Algorithm algorithm_;
  int64_t chunk_values_;
  uint64_t sequence_ = 0;
  CollectiveCounters counters_;
  std::vector<float> scratch_;  // grows to what the schedule stages, then stays
};

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_COLLECTIVE_H_
