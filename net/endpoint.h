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

// What the sender of a message believes it is doing; travels in the message's
// header. The receiver compares it with its own belief and refuses a difference,
// naming both sides.
struct MessageTag {
  uint32_t operation = 0;    // the caller's code for the collective and its step
  uint64_t sequence = 0;     // counts the caller's collectives
  uint64_t total_bytes = 0;  // of the whole collective, so that ranks which differ in
                             // it notice with the first message between them
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
  // receive per peer), all at once, so that no order of calls can deadlock. A message may
  // be empty: its header is exchanged all the same. Blocks until all have moved, a
  // peer has made no progress for the time given at construction, or Abort. "Sent"
  // means handed over; only a later answer tells that the peer has it.
  // Errors name the peer: its loss, its silence, or a message that differs in
  // tag or length from what is expected. A rank that fails tells its peers why, and
  // whoever waits for it fails with the same text. After an error the endpoint is of
  // no more use: every later call returns that error. Received values are undefined.
  virtual absl::Status Exchange(const MessageTag& tag, std::span<const SendOp> sends,
                                std::span<const ReceiveOp> receives) = 0;
  // From any thread: makes the present and every later Exchange fail with this
  // status, which must not be OK. The first failure stays.
  virtual void Abort(const absl::Status& why) = 0;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_ENDPOINT_H_
