// The lines of several rounds brought together: what is told apart, medians over rounds, and our
// figures over the best peer's, paired by round. Pure.
#ifndef CROSSOVER_BENCH_COMM_CELLS_H_
#define CROSSOVER_BENCH_COMM_CELLS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bench/comm/record.h"
#include "bench/shared/paired_ratio.h"

namespace crossover::bench {

// A line of a table: everything but the round.
struct Series {
  std::string library;
  std::string network;
  int64_t ranks_per_node = 1;
  std::string transport;
  std::string algorithm;
  std::string op;
  std::string type;
  std::string reduce;
  std::string buffers;
  bool in_place = true;
  int64_t ranks = 0;
  int64_t bytes = 0;
  std::map<int64_t, Record> by_round;

  double MedianTimeUs() const;
  double Algbw() const;  // GB/s, at the median time
  double Busbw() const;
  double MedianCpuUs() const;
  int64_t Wrong() const;
};
// In the order in which they first came.
std::vector<Series> SeriesOf(const std::vector<Record>& records);

// Our time against another's, paired by round; likewise CPU time.
// Nothing where they share no round.
std::optional<PairedRatio> SpeedRatio(const Series& ours, const Series& theirs);
std::optional<PairedRatio> CpuRatio(const Series& ours, const Series& theirs);

// Of `all`, what was measured of the same operation, ranks and bytes over this transport by another
// library (`library`: that one alone; "": any peer), the one with the smallest median time; null if
// there is none. Their buffers are always private.
const Series* BestPeer(const std::vector<Series>& all, const Series& ours,
                       const std::string& library = "");

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_CELLS_H_
