// Made by tools/golden/make_golden.py with PyTorch 1.13.1; do not edit.
#ifndef CROSSOVER_WORKER_MODELS_GOLDEN_H_
#define CROSSOVER_WORKER_MODELS_GOLDEN_H_

#include <cstdint>
#include <vector>

namespace crossover::worker::golden {

// torch.randperm(n, generator=torch.Generator().manual_seed(seed)).
inline const std::vector<int64_t> kPermutation10Seed3 = {6, 0, 3, 7, 8, 5, 1, 9, 2, 4};
// The first of 60000 with seed 8.
inline const std::vector<int64_t> kPermutation60000Seed8Head = {
    30723, 36944, 9149, 36552, 31013, 58196, 55840, 23679,
    33848, 35053, 5658, 5169,  19345, 48265, 9263,  6904};
// DistributedSampler(range(23), num_replicas=4, seed=5), set_epoch(2), by rank.
inline const std::vector<std::vector<int64_t>> kSampler = {
    {10, 11, 21, 17, 6, 13}, {15, 20, 12, 0, 8, 19}, {1, 7, 5, 16, 2, 22}, {9, 14, 18, 3, 4, 10}};
inline const std::vector<std::vector<int64_t>> kSamplerDropLast = {
    {10, 11, 21, 17, 6}, {15, 20, 12, 0, 8}, {1, 7, 5, 16, 2}, {9, 14, 18, 3, 4}};
// Mean cross-entropy and its gradient for the mlp of golden_test.cc.
inline constexpr double kMlpLoss = 2.3752198219299316;
inline constexpr double kMlpGradientNorm = 22.495627175072674;
inline const std::vector<int64_t> kMlpCoordinates = {0,    9,    10,   265,    2569,
                                                     2570, 2825, 2826, 100000, 203529};
inline const std::vector<double> kMlpGradient = {
    -0.05289294570684433,  0.08387620747089386,    0.23489047586917877,   0.18324750661849976,
    0.1412215530872345,    0.00042315712198615074, 0.0014535544905811548, -0.010191899724304676,
    0.0013536897022277117, -0.00017910274618770927};

}  // namespace crossover::worker::golden

#endif  // CROSSOVER_WORKER_MODELS_GOLDEN_H_
