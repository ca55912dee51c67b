// What the tests of schedules share: every algorithm at the edges of sizes and shapes, and the
// closed forms that the algorithms' files state. Pure, thread-safe.
#ifndef CROSSOVER_ALLREDUCE_SCHEDULE_CASES_H_
#define CROSSOVER_ALLREDUCE_SCHEDULE_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "allreduce/algorithms.h"
#include "allreduce/schedule.h"

namespace crossover::allreduce {

struct ScheduleCase {
  Kind kind = Kind::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  int world_size = 1;
  int root = 0;
  std::vector<int> host_of;
  int64_t length = 0;
};

// "AllReduce ring, N=3, root 0, hosts 0 0 1, 7 values"
std::string Describe(const ScheduleCase& the_case);
Place PlaceOf(const ScheduleCase& the_case, int rank);
std::vector<Schedule> SchedulesOf(const ScheduleCase& the_case);  // by rank

// All kinds and algorithms on `world_size` ranks: lengths 0, 1, N-1, N, N+1 and primes (for
// ReduceScatter and AllGather blocks of 0, 1 and primes), several roots, several ways to lay the
// ranks on hosts.
std::vector<ScheduleCase> CasesOf(int world_size);

// What a rank moves, in values.
struct Traffic {
  int64_t steps = 0;
  int64_t sent = 0;
  int64_t received = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};
// By counting a schedule's transfers, and as the algorithm's file states it.
Traffic CountOf(const Schedule& schedule);
Traffic ClosedFormOf(const ScheduleCase& the_case, int rank);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_SCHEDULE_CASES_H_
