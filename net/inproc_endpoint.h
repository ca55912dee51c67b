// Endpoints that live in one process, for tests: the same contract as TCP's, over
// bounded queues. A test gives each to a thread.
#ifndef CROSSOVER_NET_INPROC_ENDPOINT_H_
#define CROSSOVER_NET_INPROC_ENDPOINT_H_

#include <memory>
#include <vector>

#include "core/clock.h"
#include "net/endpoint.h"

namespace crossover::net {

// One endpoint for each rank, connected with all others. They share their queues (kept
// alive by the last of them); destroying one is a closed connection for its peers.
// `clock` must outlive them; an Exchange without progress for silence_s fails.
std::vector<std::unique_ptr<Endpoint>> MakeInprocEndpoints(int world_size, double silence_s,
                                                           const Clock& clock);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_INPROC_ENDPOINT_H_
