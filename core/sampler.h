// Which samples a rank sees in an epoch: torch.utils.data.DistributedSampler's
// rule, exactly. With N samples and R ranks each takes n = ceil(N / R) (or with
// drop_last and N % R: ceil((N - R) / R)); the epoch's permutation is padded from
// its own head, cycling, to n R (or cut to it); rank r takes [r :: R]. Pure.
#ifndef CROSSOVER_CORE_SAMPLER_H_
#define CROSSOVER_CORE_SAMPLER_H_

#include <cstdint>
#include <span>
#include <vector>

namespace crossover {

int64_t SamplesPerRank(int64_t samples, int ranks, bool drop_last);

// `permutation`: of 0..samples-1, that of the epoch (PyTorch's is randperm with
// a generator seeded by seed + epoch). 0 <= rank < ranks; samples > 0.
std::vector<int64_t> RankSamples(std::span<const int64_t> permutation, int rank, int ranks,
                                 bool drop_last);

}  // namespace crossover

#endif  // CROSSOVER_CORE_SAMPLER_H_
