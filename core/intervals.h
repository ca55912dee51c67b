// Arithmetic on unions of time intervals: time is accounted on unions, never as
// a sum of durations, so that overlapping work is counted once. Pure.
#ifndef CROSSOVER_CORE_INTERVALS_H_
#define CROSSOVER_CORE_INTERVALS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace crossover {

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;  // empty if not after start
};

// Sorted, disjoint, non-empty intervals that cover the same points.
std::vector<Interval> Union(std::span<const Interval> intervals);
// Of two unions (results of Union).
std::vector<Interval> Intersection(std::span<const Interval> a, std::span<const Interval> b);
// The parts of a union inside [start, end).
std::vector<Interval> Clip(std::span<const Interval> u, int64_t start_ns, int64_t end_ns);
// Total length of a union.
int64_t LengthNs(std::span<const Interval> u);

}  // namespace crossover

#endif  // CROSSOVER_CORE_INTERVALS_H_
