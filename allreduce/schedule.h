// Collective algorithms as pure schedules: for one rank, the list of steps that an
// executor runs and a serial replay repeats. A step moves segments with peers at the same
// time, then reduces what came. Wire bytes and step counts are stated and tested.
#ifndef CROSSOVER_ALLREDUCE_SCHEDULE_H_
#define CROSSOVER_ALLREDUCE_SCHEDULE_H_

#include <cstdint>
#include <vector>

namespace crossover::allreduce {

// A stretch of the buffer, fp32 values.
struct Segment {
  int64_t offset = 0;
  int64_t length = 0;  // may be 0
};
// Cuts `length` values into `pieces` stretches whose lengths differ by at most one,
// the longer ones first.
std::vector<Segment> CutEvenly(int64_t length, int pieces);

enum class Action {
  kReplace,        // the received values take the place of ours
  kAddReceived,    // ours = received + ours
  kKeepForOwner,   // staged; the owner sums all ranks in rank order afterwards
};

struct Transfer {
  int peer = 0;
  Segment segment;
};
struct Step {
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  Action action = Action::kReplace;
};
using Schedule = std::vector<Step>;

// Ring AllReduce (Patarasuk and Yuan 2009): N-1 steps of reduce-scatter, then N-1
// of all-gather; each rank sends and receives 2 (N-1)/N of the buffer. In step k
// of the first phase rank r sends segment r-k to r+1 and adds segment r-k-1 from
// r-1; it ends owning segment r+1.
Schedule RingSchedule(int rank, int world_size, int64_t length);

// Direct AllReduce: every rank sends segment j straight to its owner, rank j, which
// sums ranks 0..N-1 in that order; then every owner sends its sum to all. Two steps, the
// ring's bytes.
Schedule DirectSchedule(int rank, int world_size, int64_t length);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_SCHEDULE_H_
