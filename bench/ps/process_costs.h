// CPU time and memory of other processes on this machine, by their ids.
#ifndef CROSSOVER_BENCH_PS_PROCESS_COSTS_H_
#define CROSSOVER_BENCH_PS_PROCESS_COSTS_H_

#include <sys/types.h>

#include "absl/status/statusor.h"

namespace crossover::bench {

// User and system time so far of all its threads, those that have ended too.
absl::StatusOr<double> CpuSecondsOf(pid_t pid);
// The most resident memory that it has had.
absl::StatusOr<double> PeakBytesOf(pid_t pid);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_PS_PROCESS_COSTS_H_
