// For tests of what runs over gRPC streams between ranks: ranks connected over loopback.
// Thread-safe: stateless.
#ifndef CROSSOVER_NET_GRPC_TEST_SUPPORT_H_
#define CROSSOVER_NET_GRPC_TEST_SUPPORT_H_

#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "net/endpoint.h"
#include "net/grpc_endpoint.h"

namespace crossover::net {

// A listener for each rank, and options that fit them.
struct GrpcTestWorld {
  explicit GrpcTestWorld(int world_size);
  GrpcEndpointOptions Options(int rank) const;
  std::vector<std::unique_ptr<GrpcListener>> listeners;
  std::vector<std::string> addresses;
};

// All ranks connected, each from a thread of its own. Failure ends the process.
std::vector<std::unique_ptr<Endpoint>> MakeGrpcEndpoints(int world_size, const Clock& clock);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_GRPC_TEST_SUPPORT_H_
