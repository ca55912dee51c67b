// What no line of results may say: elements that are wrong, a rate that its link cannot have
// carried, or what was never measured. Pure.
#ifndef CROSSOVER_BENCH_COMM_RECORD_CHECK_H_
#define CROSSOVER_BENCH_COMM_RECORD_CHECK_H_

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/comm/record.h"

namespace crossover::bench {

// Errors name the first line that is at fault, and say what the fault means.
absl::Status CheckRecords(const std::vector<Record>& records);

// All lines of a file of --json. Refuses, by the line's number, what is none, values that nothing
// can have, and two lines of one measurement.
absl::StatusOr<std::vector<Record>> ReadResults(std::string_view text);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_RECORD_CHECK_H_
