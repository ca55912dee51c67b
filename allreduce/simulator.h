// Runs all ranks' schedules in one thread by the engine's rules (allreduce/schedule.h), in an order
// that a seed decides: ranks that are slow or late, messages that are late, moves that are short,
// streams and staging that hold little. Pure: one seed, one run. For tests.
#ifndef CROSSOVER_ALLREDUCE_SIMULATOR_H_
#define CROSSOVER_ALLREDUCE_SIMULATOR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "allreduce/schedule.h"
#include "core/data_type.h"

namespace crossover::allreduce {

struct SimulationOptions {
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  uint64_t seed = 1;
  // Whether sent values stay in the sender's buffer until they are received; it is then an error
  // to overwrite them before.
  bool borrow = false;
};

// A rank's moments, counted in rounds of all ranks; 0 for what never came.
struct Moments {
  int64_t began = 0;
  int64_t last_value = 0;  // the last received value was in place
  int64_t ended = 0;
};
struct SimulationResult {
  std::vector<std::vector<std::byte>> buffers;  // by rank
  std::vector<int64_t> sent;                    // values, by rank
  std::vector<int64_t> received;
  std::vector<Moments> moments;
};

// schedules[r] and buffers[r] are rank r's. An average is divided by the number of ranks.
// Errors: a deadlock, a message that its receiver does not wait for, borrowed values that were
// overwritten before they arrived.
absl::StatusOr<SimulationResult> Simulate(const std::vector<Schedule>& schedules,
                                          std::vector<std::vector<std::byte>> buffers,
                                          const SimulationOptions& options);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_SIMULATOR_H_
