#include "allreduce/two_level.h"

#include <utility>

#include "core/check.h"
#include "core/status.h"

namespace crossover::allreduce {

Schedule BetweenHosts(const Place& place, int64_t length) {
  Schedule schedule = MakeSchedule(Kind::kAllReduce, Algorithm::kHierarchical, place, length);
  schedule.front() = {};
  schedule.back() = {};
  return schedule;
}

absl::Status AllReduceInTwoLevels(Operation operation, const Place& place, const std::byte* from,
                                  SharedMemoryGroup& group, Engine& engine) {
  CROSSOVER_CHECK(engine.idle(), "a rank that waits in shared memory moves nothing for others");
  const int owners = PiecesOfHierarchical(place);
  std::byte* const values = operation.buffer;
  Frame frame = operation.frame;
  frame.step = 0;
  RETURN_IF_ERROR(group.ReduceToOwners(frame, owners, from, values));
  frame.step = static_cast<uint32_t>(operation.schedule->size() - 1);
  const int64_t number = engine.Start(std::move(operation));
  RETURN_IF_ERROR(engine.Finish(number, [&group] { group.Pulse(); }));
  return group.GatherFromOwners(frame, owners, values);
}

}  // namespace crossover::allreduce
