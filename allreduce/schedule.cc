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

}  // namespace crossover::allreduce
