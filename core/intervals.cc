#include "core/intervals.h"

#include <algorithm>

namespace crossover {

std::vector<Interval> Union(std::span<const Interval> intervals) {
  std::vector<Interval> sorted;
  sorted.reserve(intervals.size());
  for (const Interval& interval : intervals) {
    if (interval.start_ns < interval.end_ns) sorted.push_back(interval);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  size_t kept = 0;
  for (const Interval& interval : sorted) {
    if (kept > 0 && interval.start_ns <= sorted[kept - 1].end_ns) {
      sorted[kept - 1].end_ns = std::max(sorted[kept - 1].end_ns, interval.end_ns);
    } else {
      sorted[kept++] = interval;
    }
  }
  sorted.resize(kept);
  return sorted;
}

std::vector<Interval> Intersection(std::span<const Interval> a, std::span<const Interval> b) {
  std::vector<Interval> common;
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const Interval both = {std::max(a[i].start_ns, b[j].start_ns),
                           std::min(a[i].end_ns, b[j].end_ns)};
    if (both.start_ns < both.end_ns) common.push_back(both);
    // What ends first meets nothing further on the other side.
    if (a[i].end_ns < b[j].end_ns) {
      ++i;
    } else {
      ++j;
    }
  }
  return common;
}

std::vector<Interval> Clip(std::span<const Interval> u, int64_t start_ns, int64_t end_ns) {
  const Interval window = {start_ns, end_ns};
  return Intersection(u, {&window, 1});
}

int64_t LengthNs(std::span<const Interval> u) {
  int64_t length_ns = 0;
  for (const Interval& interval : u) length_ns += interval.end_ns - interval.start_ns;
  return length_ns;
}

}  // namespace crossover
