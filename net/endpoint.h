// One rank's connections to its peers: framed messages, in order for each pair
// and direction. Implementations: TCP (net/tcp_endpoint.h), in-process for tests
// (net/inproc_endpoint.h), a decorator that injects faults (net/faulty_endpoint.h).
#ifndef CROSSOVER_NET_ENDPOINT_H_
#define CROSSOVER_NET_ENDPOINT_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"

namespace crossover::net {

// A message's header: what the sender believes it is doing. The receiver compares
// it with its own belief and refuses a difference, naming both sides.
struct MessageTag {
  uint32_t operation = 0;  // the caller's code for the collective and its step
  uint64_t sequence = 0;   // counts the caller's collectives
};

struct SendOp {
  int peer = 0;
  std::span<const std::byte> data;
};
struct ReceiveOp {
  int peer = 0;
  std::span<std::byte> into;
};

// Belongs to one thread at a time, except Abort. Buffers are borrowed during the call.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  // Sends and receives one message with each named peer (at most one send and one
  // receive per peer), all at once, so that no order of calls can deadlock. Blocks until
  // all have moved, the deadline given at construction passes without progress, or Abort.
  // Errors name the peer: its loss, its silence, or a message that differs in
  // tag or length from what is expected. After an error the endpoint is of no more use.
  virtual absl::Status Exchange(const MessageTag& tag, std::span<const SendOp> sends,
                                std::span<const ReceiveOp> receives) = 0;
  // From any thread: makes the present and every later Exchange fail with this status.
  virtual void Abort(const absl::Status& why) = 0;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_ENDPOINT_H_
