// Collective algorithms as pure schedules: for one rank, the list of steps that an
// executor (allreduce/collective.h) runs and a serial replay (allreduce/replay.h)
// repeats. A step moves segments with peers at the same time, then reduces what came.
// All ranks' schedules have the same number of steps, and what a rank sends in a step
// its peer receives in that step. Lengths and offsets are fp32 values. Pure, thread-safe;
// 0 <= rank < world_size and length >= 0 (CHECK).
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
  kReplace,       // the received values take the place of ours
  kAddReceived,   // ours = received + ours
  kKeepForOwner,  // staged; ours = the sum over ranks 0..N-1 in that order, from rank
                  // 0's values on, with ours in its place
};

struct Transfer {
  int peer = 0;
  Segment segment;
};
struct Step {
  std::vector<Transfer> sends;     // at most one a peer
  std::vector<Transfer> receives;  // at most one a peer, disjoint from the sends' segments;
                                   // with kKeepForOwner all of one and the same segment
  Action action = Action::kReplace;
};
using Schedule = std::vector<Step>;

// Ring AllReduce (Patarasuk and Yuan 2009): N-1 steps of reduce-scatter, then N-1
// of all-gather. In step k of the first phase rank r sends segment r-k to r+1 and
// adds segment r-k-1 from r-1; it ends owning segment r+1. In step k of the second it
// sends segment r+1-k and takes r-k. Of a buffer of M bytes every rank sends and
// receives 2 (N-1)/N M: exactly, it sends M twice less segments r+1 and r+2.
// The sum of segment s is taken in the ring's order s, s+1, ..., s-1: the same bits on
// every rank, but not those of a sum in rank order.
Schedule RingSchedule(int rank, int world_size, int64_t length);

// Direct AllReduce: every rank sends segment j straight to its owner, rank j, which
// sums ranks 0..N-1 in that order; then every owner sends its sum to all. Two steps (none
// for one rank), the ring's bytes: rank r sends M - segment r, then (N-1) segment r, and
// receives as much.
Schedule DirectSchedule(int rank, int world_size, int64_t length);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_SCHEDULE_H_
