// A communication test's tables: what the link can do, latency of small sizes and bandwidth of
// large ones apart, and our figures beside the peers'. Pure.
#ifndef CROSSOVER_BENCH_COMM_TABLE_H_
#define CROSSOVER_BENCH_COMM_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/comm/cells.h"

namespace crossover::bench {

// Up to here a size's time is its latency; above it its rate counts.
inline constexpr int64_t kLatencyBytesMax = 64 << 10;

// All tables of these series; those without a line are left out.
std::string Tables(const std::vector<Series>& all);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_TABLE_H_
