// The executor of all schedules: moves the bytes of the collectives in flight over an endpoint
// and combines what comes. A byte is sent as soon as it is final, received values are combined
// while more arrive, and the next collective's bytes follow the present one's on every stream
// without a pause. Every message opens with a frame (allreduce/frame.h), checked before its values
// are used.
//
// Belongs to one thread. All ranks start the same collectives in the same order; where they do
// not, every rank ends with one error that shows both sides. After an error it is of no more use,
// and buffers hold undefined values.
#ifndef CROSSOVER_ALLREDUCE_ENGINE_H_
#define CROSSOVER_ALLREDUCE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/frame.h"
#include "allreduce/schedule.h"
#include "core/clock.h"
#include "core/data_type.h"
#include "net/endpoint.h"

namespace crossover::allreduce {

// One collective as the engine sees it.
struct Operation {
  Frame frame;        // sender, step, bytes are filled for each message; the rest is equal on all
  Schedule schedule;  // of this rank
  std::byte* buffer = nullptr;  // the working buffer, borrowed until the operation is done
  int contributions = 1;        // an average's divisor
};

struct EngineCounters {
  int64_t sent_bytes = 0;      // payload, frames apart
  int64_t received_bytes = 0;
  int64_t frame_bytes_sent = 0;
};

class Engine {
 public:
  struct Options {
    double silence_s = 10;      // without a byte while something is awaited
    int64_t chunk_bytes = 256 << 10;  // most that one call moves
    int spin_rounds = 200;      // looks before it blocks
    bool yield = false;         // between looks: ranks of this host outnumber its cores
    int64_t borrow_bytes_min = 64 << 10;  // shorter segments are copied even where borrowing pays
  };
  // `endpoint` and `clock` are borrowed and outlive this.
  Engine(net::Endpoint& endpoint, const Options& options, const Clock& clock);

  // Takes a collective; returns its number. Moves nothing yet.
  int64_t Start(Operation operation);
  bool IsDone(int64_t number) const { return number < first_ || ...; }
  // Moves what can be moved at once; whether anything moved.
  absl::StatusOr<bool> Progress();
  // Blocks until something may move, Endpoint::Wake, or an error: see silence_s.
  absl::Status Wait();
  // Until it is done.
  absl::Status Finish(int64_t number);
};

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_ENGINE_H_
