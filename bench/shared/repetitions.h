// How often and how long one size is timed: a repetition is `batch` calls back to back, and its
// time their mean, so that a repetition of small buffers lasts 20 ms and not one round trip. Pure.
#ifndef CROSSOVER_BENCH_SHARED_REPETITIONS_H_
#define CROSSOVER_BENCH_SHARED_REPETITIONS_H_

#include <cstdint>

namespace crossover::bench {

struct Repetitions {
  int64_t batch = 1;
  int64_t count = 1;
};
// Of calls that last `call_s` each. `iterations` repetitions; 0: as many as fit into `budget_s`,
// and a few at least.
Repetitions PlanRepetitions(int64_t iterations, double budget_s, double call_s);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_SHARED_REPETITIONS_H_
