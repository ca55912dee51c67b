// The executor of all schedules: moves the bytes of the collectives in flight over an endpoint
// and combines what comes. A byte is sent as soon as it is final, received values are combined
// while more arrive, and the next collective's bytes follow the present one's on every stream
// without a pause. Every message opens with a frame (allreduce/frame.h) that is checked before
// its values are used.
//
// Belongs to one thread. All ranks start the same collectives in the same order; where they do
// not, every rank ends with an error that shows both sides. After an error it is of no more use:
// every call returns the first one, the endpoint is aborted with it, and buffers hold undefined
// values.
#ifndef CROSSOVER_ALLREDUCE_ENGINE_H_
#define CROSSOVER_ALLREDUCE_ENGINE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/flight.h"
#include "allreduce/message_stream.h"
#include "allreduce/patience.h"
#include "core/clock.h"
#include "net/endpoint.h"

namespace crossover::allreduce {

class Engine {
 public:
  struct Options {
    // Without a byte to or from anybody while something is awaited: then the ranks that are
    // missing are named. Ranks tell each other what they wait for as soon as it takes long.
    double silence_s = 10;
    // At most that many are moved or combined at a time, and at least 8 KiB; where nothing is
    // copied in between, up to 1 MiB.
    int64_t chunk_bytes = 256 << 10;
    // How often Rest lets its caller look before it blocks, at most, and whether it yields the core
    // between looks (where ranks of one host outnumber its cores).
    int spin_rounds = 200;
    bool yield = false;
  };
  // `endpoint` and `clock` are borrowed and outlive this.
  Engine(net::Endpoint& endpoint, const Options& options, const Clock& clock);

  // Takes a collective and returns its number, counted from 0. Moves nothing yet.
  int64_t Start(Operation operation);
  bool IsDone(int64_t number) const;
  bool idle() const { return flights_.empty(); }

  // Moves what can be moved at once, without blocking; whether anything moved.
  absl::StatusOr<bool> Progress();
  // Blocks until something may move, Endpoint::Wake, or an error: silence, a lost peer, an abort.
  absl::Status Wait();
  // For a loop of Progress, with what it has returned: where nothing moved, yields or pauses, or
  // Waits where looking again does not pay (allreduce/patience.h).
  absl::Status Rest(bool moved);
  // Progress and Rest until collective `number` is done; calls `moved_something` each time that
  // something has moved.
  absl::Status Finish(int64_t number, const std::function<void()>& moved_something = nullptr);

  const StreamCounters& counters() const { return counters_; }

 private:
  absl::StatusOr<bool> MoveAll();
  std::unique_ptr<Flight> FlightOf(Operation operation);
  void DropDone();
  absl::Status WaitForBytes();
  bool Awaits(int peer) const;
  absl::Status Fail(const absl::Status& status);
  std::string WhatIsAwaited() const;
  absl::Status SilenceError() const;

  net::Endpoint& endpoint_;
  const Options options_;
  const Clock& clock_;
  std::deque<std::unique_ptr<Flight>> flights_;  // not done, or behind one that is not
  std::vector<std::unique_ptr<Flight>> spares_;  // done; the next ones take their storage
  int64_t first_number_ = 0;                     // of flights_.front()
  std::vector<Outgoing> outgoing_;               // by rank; the own one stays empty
  std::vector<Incoming> incoming_;
  StreamCounters counters_;
  Patience patience_;
  // Since when nothing has moved while something is awaited; the clock is asked when it is
  // waited for, not with every byte.
  static constexpr int64_t kJustNow = -1;
  int64_t moved_ns_ = kJustNow;
  int64_t published_ns_ = kJustNow;  // when peers were last told what is awaited
  absl::Status failure_;
  std::vector<net::Interest> interests_;
};

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_ENGINE_H_
