// Chain broadcast: root -> root+1 -> ... -> root-1, every rank forwarding bytes as they come. Then
// the last sends the root an empty answer, ordered: it has all values, so every rank before it,
// which forwarded them, has them too. The root's success means that all ranks have all values.
//   N steps; every rank but the last sends M, every rank but the root receives M
// Sent bytes may be borrowed: they are final.
#include "allreduce/algorithms/builders.h"

namespace crossover::allreduce {

Schedule ChainBroadcast(const Place& place, int64_t length) {
  const int size = place.world_size;
  const int position = (place.rank - place.root + size) % size;
  const auto at = [&](int other) { return (other + place.root) % size; };
  Schedule schedule(size);
  if (position < size - 1) schedule[position].sends = {{at(position + 1), {0, length}}};
  if (position > 0) schedule[position - 1].receives = {{at(position - 1), {0, length}}};
  Step& answer = schedule.back();
  answer.ordered = true;
  if (position == size - 1) answer.sends = {{place.root, {}}};
  if (position == 0) answer.receives = {{at(size - 1), {}}};
  return schedule;
}

}  // namespace crossover::allreduce
