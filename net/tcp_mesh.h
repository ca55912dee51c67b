// Makes the connections of a full mesh: two a pair of ranks (Channel), the lower rank
// connects. Strangers and silent connections are dropped and harm nobody. Blocks;
// one thread, one poll loop, many handshakes at a time.
#ifndef CROSSOVER_NET_TCP_MESH_H_
#define CROSSOVER_NET_TCP_MESH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/socket.h"
#include "net/tcp_endpoint.h"
#include "net/tcp_handshake.h"

namespace crossover::net {

struct PeerConnections {
  UniqueFd data;
  UniqueFd control;
  UniqueFd& Of(Channel channel) { return channel == Channel::kData ? data : control; }
};

// By rank; the own rank's are invalid. Errors name the ranks without a connection
// and what was seen of them. `listener` is borrowed.
absl::StatusOr<std::vector<PeerConnections>> ConnectMesh(const TcpListener& listener,
                                                         const TcpEndpointOptions& options,
                                                         const Clock& clock);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_TCP_MESH_H_
