// The readable reference of a collective: all ranks' schedules, one step after the
// other, on all ranks' buffers in one place. No chunks, no threads, no messages. What the
// executor computes must equal it bit for bit. Pure; for tests and benchmarks.
#ifndef CROSSOVER_ALLREDUCE_REPLAY_H_
#define CROSSOVER_ALLREDUCE_REPLAY_H_

#include <vector>

#include "allreduce/schedule.h"

namespace crossover::allreduce {

// schedules[r] and buffers[r] are rank r's; returns the buffers afterwards. A
// schedule that receives what nobody sends is a bug (CHECK).
std::vector<std::vector<float>> Replay(const std::vector<Schedule>& schedules,
                                       std::vector<std::vector<float>> buffers);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_REPLAY_H_
