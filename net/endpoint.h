// One rank's byte streams to its peers: one for each peer and direction, reliable and in
// order. What the bytes mean is the caller's (allreduce/frame.h). Implementations: TCP
// (net/tcp_endpoint.h), shared memory within a host (net/shared_memory_endpoint.h), a gRPC
// stream (net/grpc_endpoint.h), in-process for tests (net/inproc_endpoint.h), and a decorator
// that injects faults (net/faulty_endpoint.h).
#ifndef CROSSOVER_NET_ENDPOINT_H_
#define CROSSOVER_NET_ENDPOINT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace crossover::net {

// How TrySend may use the caller's bytes.
enum class SendMode {
  kCopy,    // taken bytes have been copied: they may change at once
  kBorrow,  // taken bytes may still be read until the receiver has them: they must not change
            // before an answer of the receiver's tells so (an endpoint may copy all the same)
};

// What to wait for.
struct Interest {
  int peer = 0;
  bool send = false;
  bool receive = false;
};

// What a peer has said of itself beside the data (Endpoint::Publish).
struct PeerNote {
  std::string text;         // "" if nothing came yet
  int64_t received_ns = 0;  // on the endpoint's clock
};

// Belongs to one thread at a time, except Abort and Wake, which any thread may call.
// The first failure stays: afterwards every call returns it.
class Endpoint {
 public:
  // The end in good order. Peers receive what was sent before; only those fail who want more of
  // this rank, or have more for it.
  virtual ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  int rank() const { return rank_; }
  int world_size() const { return world_size_; }
  // Whether kBorrow differs from kCopy here; equal on all ranks.
  bool borrows() const { return borrows_; }

  // Both move what can be moved at once, never block, and return how many bytes moved (0: none
  // at the moment). What TrySend has not taken has to be offered again: the next call's data
  // begins where the last one's taken bytes ended, in the same mode, and may be longer.
  // Errors: the peer's loss, with its own last words where it had time for some.
  virtual absl::StatusOr<size_t> TrySend(int peer, std::span<const std::byte> data,
                                         SendMode mode) = 0;
  virtual absl::StatusOr<size_t> TryReceive(int peer, std::span<std::byte> into) = 0;

  // Blocks until one of the interests (each peer in one at most) may move, Wake, a note, or
  // `timeout_ns` (0: looks only); may return early for no reason. Errors: an abort, or the loss
  // or last words of any peer, in `interests` or not: so a rank learns of every failure that it
  // waits through.
  virtual absl::Status Wait(std::span<const Interest> interests, int64_t timeout_ns) = 0;
  // Makes the present Wait return, or else the next.
  virtual void Wake() = 0;

  // Tells all peers what this rank is doing; never blocks, and may be lost where a peer does not
  // listen. At most kNoteBytesMax bytes; longer is cut.
  virtual void Publish(const std::string& note) = 0;
  // The latest that came; taken in by Wait.
  const PeerNote& NoteOf(int peer) const { return notes_[peer]; }

  // Makes the present and every later call fail with this status, which must not be OK, and
  // tells it to all peers as this rank's last words: whoever waits for this rank, now or later,
  // fails with "rank 1 gave up: WHY". Words that came from a peer are passed on unchanged, so
  // that everyone's error names the first cause. Never blocks.
  virtual void Abort(const absl::Status& why) = 0;

 protected:
  Endpoint(int rank, int world_size, bool borrows)
      : rank_(rank), world_size_(world_size), borrows_(borrows), notes_(world_size) {}
  void KeepNote(int peer, PeerNote note) { notes_[peer] = std::move(note); }

 private:
  const int rank_;
  const int world_size_;
  const bool borrows_;
  std::vector<PeerNote> notes_;  // by rank
};

inline constexpr size_t kNoteBytesMax = 512;
inline constexpr size_t kLastWordsBytesMax = 1024;

// "rank 1 gave up: WHY", cut to kLastWordsBytesMax; words that say so already stay as they are.
std::string LastWords(int rank, const absl::Status& why);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_ENDPOINT_H_
