// TCP connections between the lab's nodes, both ends in this process. Blocking, with
// time-outs; errors name the two nodes.
#ifndef CROSSOVER_LAB_PROBE_SOCKETS_H_
#define CROSSOVER_LAB_PROBE_SOCKETS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "lab/network_lab.h"
#include "os/unique_fd.h"

namespace crossover::lab {

struct Connection {
  os::UniqueFd from;
  os::UniqueFd to;
};

// Both ends are non-blocking.
absl::StatusOr<Connection> Connect(const Node& from, const Node& to);

// Segments that the socket has sent again.
int64_t RetransmittedSegments(const os::UniqueFd& socket);

// 64 bytes there and back; the microseconds that it took.
absl::StatusOr<double> RoundTripUs(const Connection& connection, const Node& from, const Node& to);

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_PROBE_SOCKETS_H_
