// Our ranks as threads of this process over the in-process endpoint: what a schedule costs without
// a network, and a test of the test.
#ifndef CROSSOVER_BENCH_COMM_IN_PROCESS_H_
#define CROSSOVER_BENCH_COMM_IN_PROCESS_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/comm/record.h"
#include "bench/comm/test_plan.h"
#include "core/clock.h"

namespace crossover::bench {

// Blocks to the end. `stopped` is asked several times a second; its error ends the ranks.
absl::StatusOr<std::vector<Record>> RunInProcess(const TestPlan& plan, int ranks,
                                                 const std::function<absl::Status()>& stopped,
                                                 const Clock& clock);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_IN_PROCESS_H_
