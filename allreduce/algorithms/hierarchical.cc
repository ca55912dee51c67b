// Hierarchical: within hosts, between hosts, within hosts. With H hosts of L_1..L_H ranks (in the
// order of their first ranks) and G the least of them, the buffer is G even pieces, and piece g is
// owned on each host by that host's g-th rank. Ranks beyond a host's G-th own nothing, so that
// unequal hosts work.
//   1 step        every rank sends each piece to its owner on the same host, which combines the
//                 host's ranks in their order
//   2(H-1) steps  the H owners of a piece reduce and gather it round a ring
//   1 step        every owner sends its piece to the other ranks of its host
// Between hosts, with p_g the g-th piece and p_{g,j} its share of host j: the owner on host h sends
// 2 p_g - p_{g,h} - p_{g,h+1} and receives 2 p_g - p_{g,h-1} - p_{g,h}. A host thus sends about
// 2(H-1)/H M, whatever its ranks. Within a host of L ranks: owner g sends M - p_g and receives
// (L-1) p_g in the first step, and the other way round in the last; a rank without a piece sends M
// in the first and receives M in the last. With one host it is `direct`, with one rank a host a
// ring.
// A sum is taken in rank order within a host, then round the ring of hosts.
// Sent bytes may be borrowed: a contribution within the host is overwritten by the result alone,
// which comes from the very rank that combined it; between hosts the ring's argument holds.
#include <algorithm>
#include <utility>

#include "allreduce/algorithms/builders.h"

namespace crossover::allreduce {
namespace {

// ranks[h]: those of host h, in their order.
std::vector<std::vector<int>> RanksOfHosts(const Place& place) {
  std::vector<int> hosts;  // in the order of their first ranks
  std::vector<std::vector<int>> ranks;
  for (int rank = 0; rank < place.world_size; ++rank) {
    const int host = place.host_of.empty() ? rank : place.host_of[rank];
    const size_t h = std::ranges::find(hosts, host) - hosts.begin();
    if (h == hosts.size()) {
      hosts.push_back(host);
      ranks.emplace_back();
    }
    ranks[h].push_back(rank);
  }
  return ranks;
}

int LeastRanks(const std::vector<std::vector<int>>& ranks_of_hosts) {
  const auto smallest = std::ranges::min_element(ranks_of_hosts, {}, &std::vector<int>::size);
  return static_cast<int>(smallest->size());
}

// Between the owners of pieces (the host's first ranks) and the host's other ranks.
Step ToOwners(const std::vector<int>& mates, int local, const std::vector<Segment>& pieces) {
  Step step;
  step.action = Action::kReduceRankOrder;
  const int owners = static_cast<int>(pieces.size());
  for (int mate = 0; mate < static_cast<int>(mates.size()); ++mate) {
    if (mate == local) continue;
    if (mate < owners) step.sends.push_back({mates[mate], pieces[mate]});
    if (local < owners) step.receives.push_back({mates[mate], pieces[local]});
  }
  return step;
}

Step FromOwners(const std::vector<int>& mates, int local, const std::vector<Segment>& pieces) {
  Step step = ToOwners(mates, local, pieces);
  std::swap(step.sends, step.receives);
  step.action = Action::kReplace;
  return step;
}

}  // namespace

int PiecesOfHierarchical(const Place& place) { return LeastRanks(RanksOfHosts(place)); }

Schedule HierarchicalAllReduce(const Place& place, int64_t length) {
  const std::vector<std::vector<int>> hosts = RanksOfHosts(place);
  const int owners = LeastRanks(hosts);
  int our_host = 0;
  for (size_t h = 0; h < hosts.size(); ++h) {
    if (std::ranges::count(hosts[h], place.rank) > 0) our_host = static_cast<int>(h);
  }
  const std::vector<int>& mates = hosts[our_host];
  const int local = static_cast<int>(std::ranges::find(mates, place.rank) - mates.begin());
  const std::vector<Segment> pieces = CutEvenly(length, owners);

  Schedule schedule = {ToOwners(mates, local, pieces)};
  schedule.back().completes = hosts.size() == 1;
  const int host_count = static_cast<int>(hosts.size());
  if (local < owners) {
    Ring ring{
        .position = our_host, .ranks = {}, .segments = CutEvenly(pieces[local].length, host_count)};
    for (const std::vector<int>& ranks : hosts) ring.ranks.push_back(ranks[local]);
    for (Segment& segment : ring.segments) segment.offset += pieces[local].offset;
    AppendReduceScatter(ring, schedule);
    AppendAllGather(ring, schedule);
  } else {
    schedule.resize(1 + 2 * (hosts.size() - 1));
  }
  schedule.push_back(FromOwners(mates, local, pieces));
  return schedule;
}

}  // namespace crossover::allreduce
