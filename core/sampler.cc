#include "core/sampler.h"

#include "core/check.h"

namespace crossover {

int64_t SamplesPerRank(int64_t samples, int ranks, bool drop_last) {
  CROSSOVER_CHECK(samples > 0 && ranks > 0, "a data set has samples and a job has ranks");
  // Where N % R is not 0, ceil((N - R) / R) is floor(N / R); where it is 0, both
  // rules give N / R.
  return samples / ranks + (drop_last || samples % ranks == 0 ? 0 : 1);
}

std::vector<int64_t> RankSamples(std::span<const int64_t> permutation, int rank, int ranks,
                                 bool drop_last) {
  CROSSOVER_CHECK(0 <= rank && rank < ranks, "a rank lies in [0, ranks)");
  const int64_t samples = static_cast<int64_t>(permutation.size());
  const int64_t count = SamplesPerRank(samples, ranks, drop_last);
  std::vector<int64_t> own;
  own.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    // Past the end the permutation starts over: the padding.
    own.push_back(permutation[(rank + i * ranks) % samples]);
  }
  return own;
}

}  // namespace crossover
