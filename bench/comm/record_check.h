// What no line of results may say: elements that are wrong, or a rate that its link cannot have
// carried. Pure.
#ifndef CROSSOVER_BENCH_COMM_RECORD_CHECK_H_
#define CROSSOVER_BENCH_COMM_RECORD_CHECK_H_

#include <vector>

#include "absl/status/status.h"
#include "bench/comm/record.h"

namespace crossover::bench {

// Errors name the first line that is at fault, and say what the fault means.
absl::Status CheckRecords(const std::vector<Record>& records);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_RECORD_CHECK_H_
