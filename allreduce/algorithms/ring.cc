// Ring (Patarasuk and Yuan 2009), with segment s of N going round from rank s+1 to its owner s.
// Reduce-scatter, N-1 steps: in step k rank r sends segment r-1-k to r+1 and combines r-2-k from
// r-1. Segment s is ((x_{s+1} op x_{s+2}) op ...) op x_s: the same bits wherever it is used, but
// not those of a sum in rank order. All-gather, N-1 steps: in step k it sends segment r-k and takes
// r-1-k.
//   AllReduce      2(N-1) steps; rank r sends 2M - m_r - m_{r+1} and receives 2M - m_{r-1} - m_r
//                  (2 (N-1)/N M where N divides M)
//   ReduceScatter  N-1 steps; sends and receives (N-1)/N M
//   AllGather      N-1 steps; sends and receives (N-1)/N M
// Sent bytes may be borrowed: reduce-scatter receives into a segment only before it sends it, and
// in the all-gather what comes back for a segment has been through every rank, the receiver of the
// earlier message among them. What the all-gather sends is final.
#include <numeric>

#include "allreduce/algorithms/builders.h"

namespace crossover::allreduce {
namespace {

int Modulo(int number, int size) { return ((number % size) + size) % size; }

Ring RingOfAll(const Place& place, int64_t length) {
  Ring ring{.position = place.rank,
            .ranks = std::vector<int>(place.world_size),
            .segments = CutEvenly(length, place.world_size)};
  std::iota(ring.ranks.begin(), ring.ranks.end(), 0);
  return ring;
}

// The step that sends `sent` onwards and receives the segment before it.
Step Pass(const Ring& ring, int sent) {
  const int size = static_cast<int>(ring.ranks.size());
  const int next = ring.ranks[Modulo(ring.position + 1, size)];
  const int previous = ring.ranks[Modulo(ring.position - 1, size)];
  return {.sends = {{next, ring.segments[Modulo(sent, size)]}},
          .receives = {{previous, ring.segments[Modulo(sent - 1, size)]}}};
}

}  // namespace

void AppendReduceScatter(const Ring& ring, Schedule& schedule) {
  const int steps = static_cast<int>(ring.ranks.size()) - 1;
  for (int k = 0; k < steps; ++k) {
    schedule.push_back(Pass(ring, ring.position - 1 - k));
    schedule.back().action = Action::kReduce;
    schedule.back().completes = k == steps - 1;
  }
}

void AppendAllGather(const Ring& ring, Schedule& schedule) {
  const int steps = static_cast<int>(ring.ranks.size()) - 1;
  for (int k = 0; k < steps; ++k) schedule.push_back(Pass(ring, ring.position - k));
}

Schedule RingAllReduce(const Place& place, int64_t length) {
  const Ring ring = RingOfAll(place, length);
  Schedule schedule;
  AppendReduceScatter(ring, schedule);
  AppendAllGather(ring, schedule);
  return schedule;
}

Schedule RingReduceScatter(const Place& place, int64_t length) {
  Schedule schedule;
  AppendReduceScatter(RingOfAll(place, length), schedule);
  return schedule;
}

Schedule RingAllGather(const Place& place, int64_t length) {
  Schedule schedule;
  AppendAllGather(RingOfAll(place, length), schedule);
  return schedule;
}

}  // namespace crossover::allreduce
