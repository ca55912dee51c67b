// One collective in flight: which bytes of its schedule have moved, and which may move now. A
// byte may be sent once no unfinished receive of an earlier step can still change it; a received
// value may take its place once every send of the old one has been handed over, and once earlier
// steps' receives into the same place are done, so that sums have one order. Pure; belongs to one
// thread.
#ifndef CROSSOVER_ALLREDUCE_FLIGHT_H_
#define CROSSOVER_ALLREDUCE_FLIGHT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "allreduce/frame.h"
#include "allreduce/schedule.h"

namespace crossover::allreduce {

// One collective, as its caller describes it.
struct Operation {
  Frame frame;  // sender, step and bytes are filled for each message; the rest is every rank's
  std::shared_ptr<const Schedule> schedule;  // of this rank; collectives that are alike share it
  std::byte* buffer = nullptr;               // the working buffer, borrowed until it is done
  int contributions = 1;                     // what an average divides by
  bool borrow = false;  // long segments are sent by reference: then the schedule must be safe to
                        // borrow in and end with an acknowledgement (allreduce/algorithms.h)
};

// Offsets and lengths are bytes of the working buffer from here on.
struct FlightTransfer {
  int peer = 0;
  int64_t offset = 0;
  int64_t length = 0;
  int64_t moved = 0;      // handed over, or arrived
  int64_t final = 0;      // of a receive: of the moved bytes, what is in place
  bool complete = false;  // frame included
};
struct FlightStep {
  std::vector<FlightTransfer> sends;
  std::vector<FlightTransfer> receives;
  Action action = Action::kReplace;
  bool completes = false;
  bool ordered = false;
};

class Flight {
 public:
  explicit Flight(Operation operation);
  // Begins another operation, in the storage of the last, which is done; cheap where they share
  // their schedule.
  void Restart(Operation operation);

  const Operation& operation() const { return operation_; }
  std::vector<FlightStep>& steps() { return steps_; }
  int64_t value_bytes() const { return value_bytes_; }
  // The frame that `sender` puts before a message of `bytes` in `step`.
  FrameBytes FrameOf(int sender, size_t step, int64_t bytes) const;
  // The first step that is not over, for who asks what this rank is doing.
  size_t first_open_step() const { return first_open_; }

  // How many bytes of this send, from its start, may have left by now; -1: not even its frame.
  int64_t Sendable(size_t step, const FlightTransfer& send) const;
  // How many bytes of this receive, from its start, may be in place by now.
  int64_t Placeable(size_t step, const FlightTransfer& receive) const;

  // To be called once for each transfer, when it is over.
  void Complete(FlightTransfer& transfer);
  bool done() const { return open_transfers_ == 0; }

 private:
  void TakeSteps();

  Operation operation_;
  FrameBytes frame_;  // operation_'s
  int64_t value_bytes_;
  std::vector<FlightStep> steps_;
  size_t first_open_ = 0;
  int64_t open_transfers_ = 0;
};

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_FLIGHT_H_
