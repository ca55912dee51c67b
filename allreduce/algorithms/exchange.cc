// Exchange: every rank sends all of its values to every other rank, and each combines ranks 0..N-1
// in that order: one step, for buffers whose time is latency. The sum has the order and bits of
// `direct`, and halves are rounded once.
//   1 step; sends and receives (N-1) M
// Sent bytes must be copied: the sum overwrites them once all peers' values are here, which says
// nothing about whether peers have ours.
#include "allreduce/algorithms/builders.h"

namespace crossover::allreduce {

Schedule ExchangeAllReduce(const Place& place, int64_t length) {
  Step step;
  step.action = Action::kReduceRankOrder;
  step.completes = true;
  for (int peer = 0; peer < place.world_size; ++peer) {
    if (peer == place.rank) continue;
    step.sends.push_back({peer, {0, length}});
    step.receives.push_back({peer, {0, length}});
  }
  return {step};
}

}  // namespace crossover::allreduce
