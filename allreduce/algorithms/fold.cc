// Folds the ranks beyond a power of two into others; builders.h says what it costs.
#include <bit>

#include "allreduce/algorithms/builders.h"

namespace crossover::allreduce {

int PowerOfTwoWithin(int world_size) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(world_size)));
}

void AppendFoldIn(const Place& place, int64_t length, Schedule& schedule) {
  const int power = PowerOfTwoWithin(place.world_size);
  if (power == place.world_size) return;
  Step step;
  step.action = Action::kReduce;
  if (place.rank >= power) {
    step.sends = {{place.rank - power, {0, length}}};
  } else if (place.rank + power < place.world_size) {
    step.receives = {{place.rank + power, {0, length}}};
  }
  schedule.push_back(step);
}

void AppendFoldOut(const Place& place, int64_t length, Schedule& schedule) {
  const int power = PowerOfTwoWithin(place.world_size);
  if (power == place.world_size) return;
  Step step;
  if (place.rank >= power) {
    step.receives = {{place.rank - power, {0, length}}};
  } else if (place.rank + power < place.world_size) {
    step.sends = {{place.rank + power, {0, length}}};
  }
  schedule.push_back(step);
}

int CeilLog2(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

}  // namespace crossover::allreduce
