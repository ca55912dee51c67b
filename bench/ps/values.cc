#include "bench/ps/values.h"

namespace crossover::bench {
namespace {

// Knuth's multiplicative hash: neighbours and elements a part apart differ.
uint32_t HashOf(size_t element) { return static_cast<uint32_t>(element) * 2654435761U; }

int FirstOf(uint32_t hash) { return static_cast<int>(hash >> 8 & 63U); }
int MeanOf(uint32_t hash) { return 1 + static_cast<int>(hash >> 30); }
int SpreadOf(uint32_t hash) { return 1 + static_cast<int>(hash >> 29 & 1U); }

}  // namespace

void FillFirstParameters(std::span<float> parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i] = static_cast<float>(FirstOf(HashOf(i)));
  }
}

void FillPush(int worker, int workers, bool odd_step, std::span<float> gradient) {
  const int lean = 2 * worker - workers + 1;
  const int sign = odd_step ? -1 : 1;
  for (size_t i = 0; i < gradient.size(); ++i) {
    const uint32_t hash = HashOf(i);
    gradient[i] = static_cast<float>(sign * (MeanOf(hash) + lean * SpreadOf(hash)));
  }
}

int64_t CountWrong(int64_t steps, int times_mean, std::span<const float> parameters) {
  const int moved = steps % 2 == 0 ? 0 : times_mean;
  int64_t wrong = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const uint32_t hash = HashOf(i);
    const auto expected = static_cast<float>(FirstOf(hash) - moved * MeanOf(hash));
    wrong += parameters[i] == expected ? 0 : 1;
  }
  return wrong;
}

}  // namespace crossover::bench
