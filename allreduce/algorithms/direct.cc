// Direct: every rank sends segment s straight to its owner, rank s, which combines ranks 0..N-1 in
// that order; then every owner sends its result to all. The order of the sum does not depend on
// N's cut of the buffer, and halves are rounded once: deterministic mode rests on it.
//   AllReduce      2 steps; rank r sends and receives M - m_r, then (N-1) m_r and M - m_r: it sends
//                  M + (N-2) m_r and receives as many
//   ReduceScatter  1 step; sends and receives (N-1)/N M
//   AllGather      1 step; sends and receives (N-1)/N M
// Sent bytes may be borrowed: a contribution is overwritten by the result alone, which comes from
// the very rank that combined it. What owners send is final.
#include "allreduce/algorithms/builders.h"

namespace crossover::allreduce {
namespace {

Step ToOwners(const Place& place, const std::vector<Segment>& segments) {
  Step step;
  step.action = Action::kReduceRankOrder;
  step.completes = true;
  for (int peer = 0; peer < place.world_size; ++peer) {
    if (peer == place.rank) continue;
    step.sends.push_back({peer, segments[peer]});
    step.receives.push_back({peer, segments[place.rank]});
  }
  return step;
}

Step ToAll(const Place& place, const std::vector<Segment>& segments) {
  Step step;
  for (int peer = 0; peer < place.world_size; ++peer) {
    if (peer == place.rank) continue;
    step.sends.push_back({peer, segments[place.rank]});
    step.receives.push_back({peer, segments[peer]});
  }
  return step;
}

}  // namespace

Schedule DirectAllReduce(const Place& place, int64_t length) {
  const std::vector<Segment> segments = CutEvenly(length, place.world_size);
  return {ToOwners(place, segments), ToAll(place, segments)};
}

Schedule DirectReduceScatter(const Place& place, int64_t length) {
  return {ToOwners(place, CutEvenly(length, place.world_size))};
}

Schedule DirectAllGather(const Place& place, int64_t length) {
  return {ToAll(place, CutEvenly(length, place.world_size))};
}

}  // namespace crossover::allreduce
