// Recursive doubling: in step k rank r exchanges all of its values with rank r xor 2^k and both
// combine them. With P the largest power of two within N and E = N - P extras (builders.h):
//   log2 P steps, and 2 more if E > 0; a rank below P sends and receives log2 P M, one that has an
//   extra M more each, and an extra M each
// The sum is a balanced tree over the ranks; "received op ours" is ours op received to the peer,
// the same bits for any op that commutes (all do, but for which NaN comes out of two).
// The last exchange completes the values; extras get them already divided.
// Sent bytes must be copied: what a peer sends in the same step says nothing about what it has
// received, and overwrites what was sent to it.
#include "allreduce/algorithms/builders.h"

namespace crossover::allreduce {

Schedule RecursiveDoublingAllReduce(const Place& place, int64_t length) {
  const int power = PowerOfTwoWithin(place.world_size);
  const Segment all{0, length};
  Schedule schedule;
  AppendFoldIn(place, length, schedule);
  for (int distance = 1; distance < power; distance *= 2) {
    Step step;
    step.action = Action::kReduce;
    step.completes = distance * 2 == power;
    if (place.rank < power) {
      step.sends = {{place.rank ^ distance, all}};
      step.receives = {{place.rank ^ distance, all}};
    }
    schedule.push_back(step);
  }
  AppendFoldOut(place, length, schedule);
  return schedule;
}

}  // namespace crossover::allreduce
