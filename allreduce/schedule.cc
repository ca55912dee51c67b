#include "allreduce/schedule.h"

#include "core/check.h"

namespace crossover::allreduce {

std::vector<Segment> CutEvenly(int64_t length, int pieces) {
  CROSSOVER_CHECK(length >= 0 && pieces > 0, "a length and at least one piece");
  const int64_t base = length / pieces;
  const int64_t longer = length % pieces;
  std::vector<Segment> segments;
  int64_t offset = 0;
  for (int i = 0; i < pieces; ++i) {
    segments.push_back({offset, base + (i < longer ? 1 : 0)});
    offset += segments.back().length;
  }
  return segments;
}

Schedule RingSchedule(int rank, int world_size, int64_t length) {
  CROSSOVER_CHECK(rank >= 0 && rank < world_size, "a rank of the world");
  const std::vector<Segment> segments = CutEvenly(length, world_size);
  const auto segment = [&](int index) {  // modulo N, for an index from -N on
    return segments[(index + world_size) % world_size];
  };
  const int next = (rank + 1) % world_size;
  const int previous = (rank + world_size - 1) % world_size;
  Schedule schedule;
  for (int k = 0; k < world_size - 1; ++k) {  // reduce-scatter
    schedule.push_back({.sends = {{next, segment(rank - k)}},
                        .receives = {{previous, segment(rank - k - 1)}},
                        .action = Action::kAddReceived});
  }
  for (int k = 0; k < world_size - 1; ++k) {  // all-gather
    schedule.push_back({.sends = {{next, segment(rank + 1 - k)}},
                        .receives = {{previous, segment(rank - k)}},
                        .action = Action::kReplace});
  }
  return schedule;
}

Schedule DirectSchedule(int rank, int world_size, int64_t length) {
  CROSSOVER_CHECK(rank >= 0 && rank < world_size, "a rank of the world");
  if (world_size == 1) return {};
  const std::vector<Segment> segments = CutEvenly(length, world_size);
  Step to_owner;
  to_owner.action = Action::kKeepForOwner;
  Step to_all;
  to_all.action = Action::kReplace;
  for (int peer = 0; peer < world_size; ++peer) {
    if (peer == rank) continue;
    to_owner.sends.push_back({peer, segments[peer]});
    to_owner.receives.push_back({peer, segments[rank]});
    to_all.sends.push_back({peer, segments[rank]});
    to_all.receives.push_back({peer, segments[peer]});
  }
  return {to_owner, to_all};
}

}  // namespace crossover::allreduce
