#include "net/grpc_test_support.h"

#include <thread>
#include <utility>

#include "core/check.h"
#include "net/tcp_test_support.h"

namespace crossover::net {

GrpcTestWorld::GrpcTestWorld(int world_size) {
  for (int rank = 0; rank < world_size; ++rank) {
    auto listener = GrpcListener::Listen("127.0.0.1", 0, "");
    CROSSOVER_CHECK(listener.ok(), "loopback has a free port");
    addresses.push_back((*listener)->address());
    listeners.push_back(std::move(*listener));
  }
}

GrpcEndpointOptions GrpcTestWorld::Options(int rank) const {
  GrpcEndpointOptions options;
  options.identity = TestIdentity(rank);
  options.addresses = addresses;
  options.connect_s = 30;
  return options;
}

std::vector<std::unique_ptr<Endpoint>> MakeGrpcEndpoints(int world_size, const Clock& clock) {
  GrpcTestWorld world(world_size);
  std::vector<std::unique_ptr<Endpoint>> endpoints(world_size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] {
      auto endpoint = ConnectGrpc(std::move(world.listeners[rank]), world.Options(rank), clock);
      CROSSOVER_CHECK(endpoint.ok(), "ranks on loopback find each other");
      endpoints[rank] = std::move(*endpoint);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return endpoints;
}

}  // namespace crossover::net
