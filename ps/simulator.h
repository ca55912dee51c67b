// Parameter-server training in virtual time: workers that compute for drawn times,
// messages that travel for drawn times, and the very state machines (ps/shard.h)
// that the server runs. One seed, one history, whatever the machine.
//
// Every draw belongs to a worker and a step, so two strategies under one seed meet
// the same computing and travelling times, and differ only by their rules.
//
// Pure: no threads, no clock. Memory grows with steps x workers x parts.
#ifndef CROSSOVER_PS_SIMULATOR_H_
#define CROSSOVER_PS_SIMULATOR_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "ps/shard.h"

namespace crossover::ps {

struct SimulationOptions {
  proto::Job job;     // validated; its strategy uses servers
  int64_t steps = 0;  // of each worker, those left out by late ones counted
  // Pushes of each worker, where several steps make one (local steps); 0: one a step. "Step" below
  // then means a push, counted from 0.
  int64_t pushes = 0;
  std::vector<float> parameters;      // at the start
  std::vector<int64_t> part_lengths;  // positive; their sum is parameters.size()
  uint64_t seed = 1;
  // A step's computing time, drawn evenly from [min, max], times the worker's slowdown.
  int64_t compute_ns_min = 1;
  int64_t compute_ns_max = 1;
  std::vector<double> slowdown;  // by worker; empty: 1 for all
  // Takes the place of these draws, if set. Not negative.
  std::function<int64_t(int worker, int64_t step)> compute_ns;
  // A message's time on its way, one part's push or reply: a latency, drawn evenly from [min, max],
  // and its bytes over the worker's link, which a worker's pushes of a step take one after the
  // other. Servers' links hold nothing up.
  int64_t travel_ns_min = 0;
  int64_t travel_ns_max = 0;
  double link_bytes_per_s = 0;  // 0: no time
  // What a worker (the first of a group, for it) pushes for a step, from the parameters that it
  // has. Spans of the whole buffer's length.
  std::function<void(int worker, int64_t step, std::span<const float> parameters,
                     std::span<float> pushed)>
      compute;
};

struct SimulatedPush {
  int64_t time_ns = 0;
  int part = 0;
  int worker = 0;
  int64_t step = 0;
  int64_t staleness = 0;
  bool applied = false;
  bool held = false;
  bool late = false;
  bool operator==(const SimulatedPush&) const = default;
};

struct SimulatedRelease {
  int64_t time_ns = 0;
  int part = 0;
  int worker = 0;
  int64_t step = 0;
  int64_t version = 0;
  int64_t lead_steps = 0;
  bool operator==(const SimulatedRelease&) const = default;
};

struct History {
  std::vector<SimulatedPush> pushes;       // as they came to the parts
  std::vector<SimulatedRelease> releases;  // as they left
  std::vector<float> parameters;           // at the end
  RateSums rates;                          // of all parts
  int64_t end_ns = 0;
};

// Errors: sizes that do not agree (InvalidArgument); whatever ShardPart refuses.
absl::StatusOr<History> Simulate(const SimulationOptions& options);

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_SIMULATOR_H_
