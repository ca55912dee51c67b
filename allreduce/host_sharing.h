// Finds out which ranks of a communicator share a host, and makes the memory that those of each
// host share. All ranks call it together, before other collectives; it talks over the
// communicator's endpoint.
#ifndef CROSSOVER_ALLREDUCE_HOST_SHARING_H_
#define CROSSOVER_ALLREDUCE_HOST_SHARING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "allreduce/communicator.h"
#include "allreduce/shared_memory/group.h"
#include "core/clock.h"
#include "os/shared_memory.h"

namespace crossover::allreduce {

struct HostSharing {
  // By rank, numbered in the order of their lowest ranks.
  std::vector<int> host_of;
  // Who shares memory; equal on all ranks. kNone also where any host's ranks could not map it.
  enum class Extent { kNone, kWithinHosts, kAllRanks };
  Extent extent = Extent::kNone;
  // Of this host's ranks; null where none share, and on a rank that has its host to itself.
  std::unique_ptr<SharedMemoryGroup> group;
  // For the log: "all 4 ranks are on this host", "4 ranks are on 2 hosts", or why none share.
  std::string reason;
};

// `host`: this rank's (os::HostIdentity); nullopt: it shares with nobody. `options.ranks`, job and
// group are filled from the communicator; `registry` and `clock` outlive the group. Blocks like the
// communicator's collectives. Errors: theirs; that memory cannot be shared is none.
absl::StatusOr<HostSharing> ShareHost(Communicator& communicator, std::optional<uint64_t> host,
                                      SharedMemoryGroup::Options options,
                                      const os::SharedBufferRegistry& registry, const Clock& clock);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_HOST_SHARING_H_
