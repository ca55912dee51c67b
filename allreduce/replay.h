// The readable reference of a collective: all ranks' schedules, one step after the other, on all
// ranks' buffers in one place. No chunks, no threads, no messages. What the engine computes must
// equal it bit for bit. Pure; for tests and benchmarks.
#ifndef CROSSOVER_ALLREDUCE_REPLAY_H_
#define CROSSOVER_ALLREDUCE_REPLAY_H_

#include <cstddef>
#include <vector>

#include "allreduce/schedule.h"
#include "core/data_type.h"

namespace crossover::allreduce {

using Bytes = std::vector<std::byte>;

// schedules[r] and buffers[r] are rank r's, values of `type` one after the other; returns the
// buffers afterwards. An average is divided by the number of ranks. A schedule that receives what
// nobody sends, or sends what nobody receives, is a bug (CHECK).
std::vector<Bytes> Replay(const std::vector<Schedule>& schedules, DataType type, ReduceOp op,
                          std::vector<Bytes> buffers);

// The same for a sum of fp32.
std::vector<std::vector<float>> Replay(const std::vector<Schedule>& schedules,
                                       const std::vector<std::vector<float>>& buffers);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_REPLAY_H_
