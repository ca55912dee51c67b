// What the files of this folder share: one function for each row of the table in
// allreduce/algorithms.cc. A world of two ranks or more; arguments have been checked. M is the
// working buffer, N the ranks, m_s the s-th of N (or P) even pieces; M and m_s in bytes or values
// alike. "Sends" and "receives" count values, without frames. Pure, thread-safe.
#ifndef CROSSOVER_ALLREDUCE_ALGORITHMS_BUILDERS_H_
#define CROSSOVER_ALLREDUCE_ALGORITHMS_BUILDERS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "allreduce/algorithms.h"
#include "allreduce/schedule.h"

namespace crossover::allreduce {

Schedule RingAllReduce(const Place& place, int64_t length);
Schedule RingReduceScatter(const Place& place, int64_t length);
Schedule RingAllGather(const Place& place, int64_t length);
Schedule HalvingDoublingAllReduce(const Place& place, int64_t length);
Schedule RecursiveDoublingAllReduce(const Place& place, int64_t length);
Schedule TreeAllReduce(const Place& place, int64_t length);
Schedule TreeBroadcast(const Place& place, int64_t length);
Schedule DirectAllReduce(const Place& place, int64_t length);
Schedule DirectReduceScatter(const Place& place, int64_t length);
Schedule DirectAllGather(const Place& place, int64_t length);
Schedule ExchangeAllReduce(const Place& place, int64_t length);
Schedule HierarchicalAllReduce(const Place& place, int64_t length);
Schedule ChainBroadcast(const Place& place, int64_t length);
Schedule DisseminationBarrier(const Place& place, int64_t length);

// The two halves of a ring over some of the ranks: `ranks` in the ring's order, of which this one
// is number `position`, and as many segments. Each appends ranks.size() - 1 steps.
struct Ring {
  int position = 0;
  std::vector<int> ranks;
  std::vector<Segment> segments;
};
void AppendReduceScatter(const Ring& ring, Schedule& schedule);
void AppendAllGather(const Ring& ring, Schedule& schedule);

// For algorithms that need a power of two: with P the largest one within N, rank P + i (an
// "extra") first gives all of its values to rank i and takes no further part until rank i sends
// the result back. Nothing is appended where N is a power of two.
// Costs two steps more; an extra sends M and receives M in all, its partner receives M and sends
// M more than the others.
int PowerOfTwoWithin(int world_size);
void AppendFoldIn(const Place& place, int64_t length, Schedule& schedule);
void AppendFoldOut(const Place& place, int64_t length, Schedule& schedule);

// The smallest d with 2^d >= n; n > 0.
int CeilLog2(int n);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_ALGORITHMS_BUILDERS_H_
