// Binomial trees. With d = ceil(log2 N) and v the rank counted from the root, v's parent clears
// its lowest bit 2^b; its children are v + 2^k < N for k < b (for the root, all k < d).
// AllReduce: reduce to rank 0, then broadcast from it: 2d steps. In step k < d a rank whose lowest
// bit is 2^k sends to its parent; the way down is the mirror image.
//   a rank with c children sends and receives (c+1) M, rank 0 sends and receives d M
//   The sum is the tree's: rank 0 is ((x0 op S(1,1)) op S(2,2)) op S(4,4), ... with S(a,n) the
//   tree's sum of ranks a..a+n-1.
// Broadcast: down, then an empty answer up, ordered: a rank answers once it has all values and all
// of its children's answers, so that the root's success means that all ranks have all values.
//   2d steps; a rank with c children sends c M and, but for the root, receives M
// Sent bytes may be borrowed: a partial sum is overwritten by the result alone, which comes from
// the very rank that combined it. What goes down is final.
#include "allreduce/algorithms/builders.h"

namespace crossover::allreduce {
namespace {

// The links between children and parents across one bit: this rank's, if it has one.
struct Link {
  bool to_parent = false;
  bool to_child = false;
  int peer = 0;
};
Link LinkAcross(int bit, const Place& place, int root) {
  const int size = place.world_size;
  const int v = (place.rank - root + size) % size;
  if (v % (2 * bit) == bit) return {.to_parent = true, .peer = (v - bit + root) % size};
  if (v % (2 * bit) == 0 && v + bit < size) {
    return {.to_child = true, .peer = (v + bit + root) % size};
  }
  return {};
}

Step Up(const Link& link, const Segment& segment) {
  Step step;
  if (link.to_parent) step.sends = {{link.peer, segment}};
  if (link.to_child) step.receives = {{link.peer, segment}};
  return step;
}

Step Down(const Link& link, const Segment& segment) {
  Step step;
  if (link.to_child) step.sends = {{link.peer, segment}};
  if (link.to_parent) step.receives = {{link.peer, segment}};
  return step;
}

void AppendDown(const Place& place, int root, int64_t length, Schedule& schedule) {
  for (int k = CeilLog2(place.world_size) - 1; k >= 0; --k) {
    schedule.push_back(Down(LinkAcross(1 << k, place, root), {0, length}));
  }
}

}  // namespace

Schedule TreeAllReduce(const Place& place, int64_t length) {
  const int root = 0;
  const int depth = CeilLog2(place.world_size);
  Schedule schedule;
  for (int k = 0; k < depth; ++k) {
    schedule.push_back(Up(LinkAcross(1 << k, place, root), {0, length}));
    schedule.back().action = Action::kReduce;
    schedule.back().completes = place.rank == root && k == depth - 1;
  }
  AppendDown(place, root, length, schedule);
  return schedule;
}

Schedule TreeBroadcast(const Place& place, int64_t length) {
  Schedule schedule;
  AppendDown(place, place.root, length, schedule);
  for (int k = 0; k < CeilLog2(place.world_size); ++k) {
    schedule.push_back(Up(LinkAcross(1 << k, place, place.root), {}));
    schedule.back().ordered = true;
  }
  return schedule;
}

}  // namespace crossover::allreduce
