// One rank's part of a communication test: for every size and place first a call whose every
// element is checked, then calls that are timed, then another checked call.
#ifndef CROSSOVER_BENCH_COMM_SWEEP_H_
#define CROSSOVER_BENCH_COMM_SWEEP_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/communicator.h"
#include "bench/comm/record.h"
#include "bench/comm/test_plan.h"
#include "bench/shared/buffer.h"
#include "bench/shared/control.h"

namespace crossover::bench {

// Who runs the collectives, and on which memory.
struct Subject {
  std::function<absl::Status(const allreduce::Communicator::Request&)> run;
  std::string transport;  // as records name it
  // What a call of so many bytes will use, as records name it.
  std::function<std::string(int64_t bytes)> algorithm;
  std::function<absl::StatusOr<Buffer>(int64_t bytes)> allocate;
  // CPU time so far of what this rank runs on: its process, or its thread.
  std::function<double()> cpu_s;
  // For tests of the test: may spoil the output of a checked call. Empty otherwise.
  std::function<void(std::byte* output, int64_t bytes)> spoil;
};

// Called by all ranks; blocks to the end. `found` is called on every rank with the same lines, as
// they come.
absl::Status RunSweep(const TestPlan& plan, Control& control, const Subject& subject,
                      const std::function<void(const Record&)>& found);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_SWEEP_H_
