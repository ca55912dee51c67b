// Dissemination barrier (Hensgen, Finkel and Manber 1988): in step k rank r tells r + 2^k, and
// hears from r - 2^k, that it and all it has heard from are there. Ordered: after step k it has
// heard of 2^(k+1) ranks.
//   ceil(log2 N) steps; a rank sends and receives that many empty messages
#include "allreduce/algorithms/builders.h"

namespace crossover::allreduce {

Schedule DisseminationBarrier(const Place& place, int64_t /*length*/) {
  const int size = place.world_size;
  Schedule schedule;
  for (int distance = 1; distance < size; distance *= 2) {
    schedule.push_back({.sends = {{(place.rank + distance) % size, {}}},
                        .receives = {{(place.rank + size - distance) % size, {}}},
                        .ordered = true});
  }
  return schedule;
}

}  // namespace crossover::allreduce
