// Among which processes, where, and for which sizes ps_test measures. Pure.
#ifndef CROSSOVER_BENCH_PS_PUSH_PULL_SETUP_H_
#define CROSSOVER_BENCH_PS_PUSH_PULL_SETUP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/ps/push_pull_plan.h"
#include "core/flag_parser.h"

namespace crossover::bench {

struct PushPullSetup {
  PushPullPlan plan;           // of each size; its bytes are not used
  std::vector<int64_t> sizes;  // of the model
  std::string network;         // the lab's spec; "": loopback
  bool colocated = false;      // server s on the node of worker s modulo workers
  int64_t workers_per_node = 1;
  int64_t wire_bytes = 4;  // of a value on its way
  bool ring = false;       // our ring AllReduce of the same sizes among the workers, in turn
};

// The flags' values as they were given.
struct PushPullFlags {
  PushPullPlan plan;
  std::string sizes = "4K:64M:x4";
  std::string network;
  std::string placement = "dedicated";
  int64_t workers_per_node = 1;
  std::string beside;
};
// `values` is borrowed and outlives every Parse.
void AddSetupFlags(PushPullFlags& values, FlagSet& flags);
// Errors name the flag, what was found and what is allowed or the fix.
absl::StatusOr<PushPullSetup> ReadSetup(const PushPullFlags& values);

// The least time of a step: what the busiest node sends, and receives, at `bytes_per_s` each way.
// With dedicated servers the larger of a worker node's M bytes for each of its workers and a
// server's N M / S. Colocated, what stays on a node costs nothing: 2(N-1)/N M where S = N. On
// loopback, where N + S processes at once reach that rate each: 2 N M of N + S such. 0: no rate.
// Values of less than four bytes on their way take as much less.
double BoundUs(const PushPullSetup& setup, int64_t bytes, double bytes_per_s);

// The nodes that a setup occupies in the lab.
int64_t WorkerNodes(const PushPullSetup& setup);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_PS_PUSH_PULL_SETUP_H_
