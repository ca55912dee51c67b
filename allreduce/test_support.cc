#include "allreduce/test_support.h"

#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "allreduce/replay.h"

namespace crossover::allreduce {

Buffers RandomBuffers(int world_size, int64_t length, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(-12, 12);
  Buffers buffers(world_size, std::vector<float>(length));
  for (std::vector<float>& buffer : buffers) {
    for (float& value : buffer) value = std::ldexp(mantissa(random), exponent(random));
  }
  return buffers;
}

Buffers ReplayAllReduce(Algorithm algorithm, const Buffers& inputs) {
  const int world_size = static_cast<int>(inputs.size());
  const int64_t length = static_cast<int64_t>(inputs[0].size());
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < world_size; ++rank) {
    schedules.push_back(algorithm == Algorithm::kRing ? RingSchedule(rank, world_size, length)
                                                      : DirectSchedule(rank, world_size, length));
  }
  return Replay(schedules, inputs);
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

std::vector<absl::Status> RunRanks(Endpoints& endpoints,
                                   const std::function<absl::Status(net::Endpoint&)>& work) {
  std::vector<absl::Status> statuses(endpoints.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < endpoints.size(); ++rank) {
    threads.emplace_back([&, rank] {
      statuses[rank] = work(*endpoints[rank]);
      if (!statuses[rank].ok()) endpoints[rank].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return statuses;
}

}  // namespace crossover::allreduce
