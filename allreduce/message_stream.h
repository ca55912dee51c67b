// The messages between this rank and one peer, one direction each: frames and values of the
// transfers that collectives have queued, moved piece by piece over an endpoint. A short message
// travels in one call: its values are copied behind its frame. Belongs to the engine's thread;
// never blocks.
#ifndef CROSSOVER_ALLREDUCE_MESSAGE_STREAM_H_
#define CROSSOVER_ALLREDUCE_MESSAGE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/flight.h"
#include "allreduce/frame.h"
#include "net/endpoint.h"

namespace crossover::allreduce {

// Values of a message that are copied to travel with its frame.
inline constexpr int64_t kStagedBytesMax = 8 << 10;

struct StreamCounters {
  int64_t sent_bytes = 0;  // values; frames apart
  int64_t received_bytes = 0;
};

// A transfer that waits for its turn. The flight outlives its stay in a queue.
struct QueuedTransfer {
  Flight* flight = nullptr;
  size_t step = 0;
  FlightTransfer* transfer = nullptr;
};

class Outgoing {
 public:
  Outgoing(int rank, int peer, int64_t chunk_bytes);

  void Queue(const QueuedTransfer& transfer) { queue_.push_back(transfer); }
  bool empty() const { return queue_.empty(); }
  // Whether bytes could leave if the endpoint took them.
  bool wants_to_send() const;
  // One message at most moves on by at most a chunk; whether anything moved.
  absl::StatusOr<bool> Advance(net::Endpoint& endpoint, StreamCounters& counters);

 private:
  void Stage(const QueuedTransfer& next, int64_t sendable);
  absl::StatusOr<bool> SendValues(net::Endpoint& endpoint);

  int rank_;
  int peer_;
  int64_t chunk_bytes_;
  std::deque<QueuedTransfer> queue_;
  bool begun_ = false;             // the front's frame has been staged
  std::vector<std::byte> staged_;  // frame and first values of the front
  size_t staged_begin_ = 0;        // of it, what has left
};

class Incoming {
 public:
  Incoming(int rank, int peer, int64_t chunk_bytes);

  void Queue(const QueuedTransfer& transfer) { queue_.push_back(transfer); }
  bool empty() const { return queue_.empty(); }
  // Whether arriving bytes could be taken now.
  bool wants_to_receive() const;
  // The same; `all` are the streams of all peers, for sums that take a value of each.
  absl::StatusOr<bool> Advance(net::Endpoint& endpoint, std::vector<Incoming>& all,
                               StreamCounters& counters);
  // The last frame that came and was right.
  std::optional<Frame> last_frame() const;

 private:
  int64_t StagedBytesWanted() const;
  int64_t ReceivableNow() const;
  std::byte* Scratch();
  absl::StatusOr<bool> ReceiveStaged(net::Endpoint& endpoint);
  absl::Status CheckFrame();
  bool PlaceStaged();
  absl::StatusOr<bool> ReceiveValues(net::Endpoint& endpoint);
  void Reduce(const std::byte* values, int64_t bytes);
  void CombineInRankOrder(std::vector<Incoming>& all, StreamCounters& counters);
  void CompleteFront(StreamCounters& counters);

  int rank_;
  int peer_;
  int64_t chunk_bytes_;
  std::deque<QueuedTransfer> queue_;
  std::vector<std::byte> staged_;  // frame and first values of the front, as they come
  int64_t staged_bytes_ = 0;
  bool checked_ = false;            // the front's frame has come and is right
  bool placed_ = false;             // the staged values have been taken
  std::vector<std::byte> scratch_;  // values on their way into a sum, at most a chunk
  int64_t scratch_bytes_ = 0;
  std::optional<FrameBytes> last_frame_;
  std::vector<const std::byte*> parts_;  // of a sum, by rank; kept for its storage
};

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_MESSAGE_STREAM_H_
