// What the machine and the network can do by themselves, measured in the same run as the
// collectives: one memcpy thread, a raw stream between two ranks, and all ranks at once, each
// sending to the next and receiving from the one before.
#ifndef CROSSOVER_BENCH_COMM_LIMITS_H_
#define CROSSOVER_BENCH_COMM_LIMITS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "bench/comm/record.h"
#include "bench/shared/control.h"
#include "lab/probe_result.h"

namespace crossover::bench {

inline constexpr char kLimitLibrary[] = "limit";
inline constexpr char kOnePair[] = "one_pair";
inline constexpr char kAllDuplex[] = "all_duplex";
inline constexpr char kMemcpy[] = "memcpy";
inline constexpr char kLabProbe[] = "lab_probe";  // lab/probe.h

// Called by all ranks; what rank 0 gets counts. Blocks for a second or two. `streams` tells
// whether `control` runs over a network.
absl::StatusOr<std::vector<Record>> MeasureLimits(Control& control, bool streams);

// What the lab's own probe found: its slowest receiver counts. Pure.
Record ProbeRecord(const lab::ProbeResult& probe);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_LIMITS_H_
