// What the collectives' tests share: inputs, closed forms and a thread a rank. Thread-safe:
// stateless.
#ifndef CROSSOVER_ALLREDUCE_TEST_SUPPORT_H_
#define CROSSOVER_ALLREDUCE_TEST_SUPPORT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/communicator.h"
#include "allreduce/host_sharing.h"
#include "core/clock.h"
#include "core/data_type.h"
#include "net/endpoint.h"
#include "os/shared_memory.h"

namespace crossover::allreduce {

using Buffers = std::vector<std::vector<float>>;  // by rank

// Values of many magnitudes, so that another order of a sum gives other bits.
Buffers RandomBuffers(int world_size, int64_t length, uint32_t seed);

// By value and by sign of zero: whether the bits agree.
bool SameBits(const std::vector<float>& a, const std::vector<float>& b);

// Small integers, so that every type and order of a sum has the same exact result, as `type`'s
// bytes: value i of rank r is (7 i + 3 r) % 11 - 4.
std::vector<std::byte> InputOf(DataType type, int rank, int64_t count);
// What `op` makes of all ranks' inputs, as `type`'s bytes.
std::vector<std::byte> ReductionOf(DataType type, ReduceOp op, int world_size, int64_t count);

using Endpoints = std::vector<std::unique_ptr<net::Endpoint>>;

// Runs `work` once a rank, each in its thread, and returns what they returned. A
// rank's endpoint is destroyed as soon as its work has failed, as a process's would be.
std::vector<absl::Status> RunRanks(Endpoints& endpoints,
                                   const std::function<absl::Status(net::Endpoint&)>& work);

// Options of a communicator that takes `algorithm` for everything that has it, else the first
// that there is; waits in vain after a minute: a test that gets there has hung.
Communicator::Options TestOptions(Algorithm algorithm);

// A rank that shares memory with the ranks of its host, in small slots, so that small buffers take
// many. Waits in vain as TestOptions says; belongs to one thread.
class SharingRank {
 public:
  struct Options {
    std::vector<int> host_of;  // by rank
    Algorithm algorithm = Algorithm::kHierarchical;
    double silence_s = 60;
    double ring_grace_s = 1;
  };
  // Together with all other ranks; `endpoint` and `clock` outlive this.
  static absl::StatusOr<std::unique_ptr<SharingRank>> Open(net::Endpoint& endpoint,
                                                           const Options& options,
                                                           const Clock& clock);
  int rank() const { return communicator_.rank(); }
  Communicator& communicator() { return communicator_; }
  os::SharedBufferRegistry& registry() { return registry_; }
  const HostSharing& sharing() const { return sharing_; }

 private:
  SharingRank(net::Endpoint& endpoint, const Options& options, const Clock& clock);
  os::SharedBufferRegistry registry_;
  HostSharing sharing_;
  Communicator communicator_;
};

// "AllReduceHalvingDoubling"
std::string TestName(Kind kind, Algorithm algorithm);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_TEST_SUPPORT_H_
