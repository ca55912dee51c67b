// Bytes as the kernel counts them: TCP payload over all open TCP sockets of this
// process (TCP_INFO: bytes sent, retransmissions included, and received). Sockets
// closed before the call are not counted, so take the difference of two calls
// while the connections of interest are open. Linux; thread-safe.
#ifndef CROSSOVER_NET_WIRE_BYTES_H_
#define CROSSOVER_NET_WIRE_BYTES_H_

#include <cstdint>
#include <string>

namespace crossover::net {

struct WireBytes {
  int64_t sent = 0;
  int64_t received = 0;
};
WireBytes CountWireBytes();

// The congestion control of new TCP sockets ("cubic"), or "unknown".
std::string DefaultCongestionControl();

}  // namespace crossover::net

#endif  // CROSSOVER_NET_WIRE_BYTES_H_
