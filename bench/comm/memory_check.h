// Whether a machine's memory holds the buffers of a communication test: without that its kernel
// would end processes, not only the test's. Pure.
#ifndef CROSSOVER_BENCH_COMM_MEMORY_CHECK_H_
#define CROSSOVER_BENCH_COMM_MEMORY_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "bench/comm/test_plan.h"

namespace crossover::bench {

// Refuses sizes of which `ranks_here` of `world_size` ranks together need more than
// `available_bytes` (0: unknown), with the largest that fits.
absl::Status CheckMemory(const TestPlan& plan, int ranks_here, int world_size,
                         int64_t available_bytes);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_MEMORY_CHECK_H_
