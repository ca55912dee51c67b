// Collective algorithms as pure schedules: for one rank, the list of steps that the engine
// (allreduce/engine.h) runs and a serial replay (allreduce/replay.h) repeats. A step moves
// segments of one working buffer with peers and combines what came. All ranks' schedules have the
// same number of steps, and what a rank sends in a step its peer receives in that step. A byte is
// sent as soon as the earlier steps have made it final: a step is no barrier unless it is
// `ordered`. A value is combined or replaced only after the earlier steps' receives of it, and
// after all sends of it in the same or an earlier step have been handed over. Offsets and lengths
// are in values. Pure, thread-safe.
#ifndef CROSSOVER_ALLREDUCE_SCHEDULE_H_
#define CROSSOVER_ALLREDUCE_SCHEDULE_H_

#include <cstdint>
#include <vector>

namespace crossover::allreduce {

// A stretch of the buffer, in values.
struct Segment {
  int64_t offset = 0;
  int64_t length = 0;  // may be 0: the message is a header alone
};
// Cuts `length` values into `pieces` stretches whose lengths differ by at most one,
// the longer ones first.
std::vector<Segment> CutEvenly(int64_t length, int pieces);

enum class Action {
  kReplace,          // the received values take the place of ours
  kReduce,           // ours = received op ours
  kReduceRankOrder,  // staged; ours = the received values and ours combined in the order of their
                     // ranks. If it completes, there is one receive from every other rank.
};

struct Transfer {
  int peer = 0;
  Segment segment;
};
struct Step {
  std::vector<Transfer> sends = {};     // at most one a peer
  std::vector<Transfer> receives = {};  // at most one a peer; disjoint from each other, but with
                                        // kReduceRankOrder all of one and the same segment
  Action action = Action::kReplace;
  // After this step's action the received segments are whole reductions: averages are divided.
  bool completes = false;
  // Nothing is sent before all receives of all earlier steps have come.
  bool ordered = false;
};
using Schedule = std::vector<Step>;

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_SCHEDULE_H_
