// AllReduce among ranks of several hosts in two levels: within this rank's host through shared
// memory, between hosts over the engine's endpoint. It is algorithm hierarchical (see
// allreduce/algorithms/hierarchical.cc) whose first and last step a host's ranks do in their own
// memory, so the bits are the same and other hosts need not know.
//
// Whatever ends one of the two levels aborts the endpoint, which both of them watch: so a rank that
// fails or dies ends all, on every host.
#ifndef CROSSOVER_ALLREDUCE_TWO_LEVEL_H_
#define CROSSOVER_ALLREDUCE_TWO_LEVEL_H_

#include <cstddef>

#include "absl/status/status.h"
#include "allreduce/algorithms.h"
#include "allreduce/engine.h"
#include "allreduce/flight.h"
#include "allreduce/schedule.h"
#include "allreduce/shared_memory/group.h"

namespace crossover::allreduce {

// What is left of hierarchical's schedule for the engine.
Schedule BetweenHosts(const Place& place, int64_t length);

// One collective. `operation` is the engine's part, with a schedule that begins with BetweenHosts;
// its buffer gets the result. `from`: this rank's values, the buffer's own or disjoint from it.
// `group` has the ranks of this rank's host, on the engine's endpoint; nothing is in flight there.
// Starts one collective of the engine's, and blocks until the result is there: as long as peers are
// away, but not beyond the silence that the group and the engine allow. Errors: theirs.
absl::Status AllReduceInTwoLevels(Operation operation, const Place& place, const std::byte* from,
                                  SharedMemoryGroup& group, Engine& engine);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_TWO_LEVEL_H_
