// What the collectives' tests share: inputs and a thread a rank. Thread-safe: stateless.
#ifndef CROSSOVER_ALLREDUCE_TEST_SUPPORT_H_
#define CROSSOVER_ALLREDUCE_TEST_SUPPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "allreduce/collective.h"
#include "allreduce/schedule.h"
#include "net/endpoint.h"

namespace crossover::allreduce {

using Buffers = std::vector<std::vector<float>>;  // by rank

// Values of many magnitudes, so that another order of a sum gives other bits.
Buffers RandomBuffers(int world_size, int64_t length, uint32_t seed);

// What the algorithm makes of `inputs`, by the serial replay of its schedules.
Buffers ReplayAllReduce(Algorithm algorithm, const Buffers& inputs);

// By value and by sign of zero: whether the bits agree.
bool SameBits(const std::vector<float>& a, const std::vector<float>& b);

using Endpoints = std::vector<std::unique_ptr<net::Endpoint>>;

// Runs `work` once a rank, each in its thread, and returns what they returned. A
// rank's endpoint is destroyed as soon as its work has failed, as a process's would be.
std::vector<absl::Status> RunRanks(Endpoints& endpoints,
                                   const std::function<absl::Status(net::Endpoint&)>& work);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_TEST_SUPPORT_H_
