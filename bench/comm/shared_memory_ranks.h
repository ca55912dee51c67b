// The ranks of one host over shared memory, as a communication test measures them.
#ifndef CROSSOVER_BENCH_COMM_SHARED_MEMORY_RANKS_H_
#define CROSSOVER_BENCH_COMM_SHARED_MEMORY_RANKS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/communicator.h"
#include "allreduce/shared_memory/group.h"
#include "bench/comm/buffer.h"
#include "bench/comm/control.h"
#include "core/clock.h"
#include "net/endpoint.h"
#include "os/shared_memory.h"

namespace crossover::bench {

// Belongs to one thread; buffers that it has given away outlive it.
class SharedMemoryRanks {
 public:
  // Called by all ranks. `endpoint` tells of dead peers; it and the clock are borrowed. `yield`:
  // ranks outnumber the cores.
  static absl::StatusOr<std::unique_ptr<SharedMemoryRanks>> Open(Control& control,
                                                                 net::Endpoint& endpoint,
                                                                 uint64_t job, double silence_s,
                                                                 bool yield, const Clock& clock);

  absl::Status Run(const allreduce::Communicator::Request& request);
  // Memory that peers can read in place.
  absl::StatusOr<Buffer> Allocate(int64_t bytes);
  // What a collective of so many bytes takes: "small", "fused" or "staged".
  static std::string PathOf(int64_t bytes, bool shared_buffers);

 private:
  explicit SharedMemoryRanks(int world_size) : world_size_(world_size) {}

  const int world_size_;
  uint64_t sequence_ = 0;
  std::shared_ptr<os::SharedBufferRegistry> registry_ =
      std::make_shared<os::SharedBufferRegistry>();
  std::unique_ptr<allreduce::SharedMemoryGroup> group_;
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_SHARED_MEMORY_RANKS_H_
