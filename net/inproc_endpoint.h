// Endpoints that live in one process, for tests: the same contract as TCP's, over bounded
// queues. A test gives each to a thread.
#ifndef CROSSOVER_NET_INPROC_ENDPOINT_H_
#define CROSSOVER_NET_INPROC_ENDPOINT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "net/endpoint.h"

namespace crossover::net {

struct InprocOptions {
  size_t queue_bytes = 64 << 10;  // on the way from one rank to another; more waits
  // Every TrySend and TryReceive moves a part of what it could, of a length that this seed and
  // the rank choose (at least a byte).
  std::optional<uint64_t> short_moves_seed;
  // SendMode::kBorrow borrows: the receiver reads the sender's buffer when it receives, so that
  // whoever changes it too early is found out.
  bool borrow = false;
};

// One endpoint for each rank, connected with all others. They share their queues (kept alive by
// the last of them). Destroying one is a goodbye: what it sent is still received, and only who
// wants more of it fails. `clock` must outlive them; it dates notes (Wait follows real time).
std::vector<std::unique_ptr<Endpoint>> MakeInprocEndpoints(int world_size, const Clock& clock,
                                                           const InprocOptions& options = {});

// As if the process of this endpoint of MakeInprocEndpoints had died: no goodbye, no last words.
void CutInprocConnections(Endpoint& endpoint);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_INPROC_ENDPOINT_H_
