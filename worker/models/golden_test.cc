// Against numbers that PyTorch itself computed (tools/golden/make_golden.py).
#include "worker/models/golden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/sampler.h"
#include "worker/models/model.h"

namespace crossover::worker {
namespace {

// As in make_golden.py.
float Pattern(int64_t i, double scale) {
  return static_cast<float>(static_cast<double>((i * 7919 + 104729) % 2003 - 1001) / 1001.0 *
                            scale);
}

TEST(GoldenTest, EpochPermutationIsRandpermOfSeedPlusEpoch) {
  EXPECT_EQ(EpochPermutation(10, 3, 0), golden::kPermutation10Seed3);
  EXPECT_EQ(EpochPermutation(10, 1, 2), golden::kPermutation10Seed3);
  EXPECT_NE(EpochPermutation(10, 3, 1), golden::kPermutation10Seed3);
  std::vector<int64_t> order = EpochPermutation(60000, 8, 0);
  EXPECT_EQ(std::vector(order.begin(), order.begin() + 16), golden::kPermutation60000Seed8Head);
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 60000; ++i) ASSERT_EQ(order[i], i);
}

TEST(GoldenTest, SmallPermutations) {
  EXPECT_TRUE(EpochPermutation(0, 1, 0).empty());
  EXPECT_EQ(EpochPermutation(1, 1, 0), std::vector<int64_t>{0});
}

TEST(GoldenTest, SamplerIsDistributedSampler) {
  const std::vector<int64_t> permutation = EpochPermutation(23, 5, 2);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(RankSamples(permutation, rank, 4, false), golden::kSampler[rank]) << rank;
    EXPECT_EQ(RankSamples(permutation, rank, 4, true), golden::kSamplerDropLast[rank]) << rank;
  }
}

TEST(GoldenTest, MlpLossAndGradient) {
  const DataShape shape = {.channels = 1, .height = 28, .width = 28, .classes = 10};
  SystemClock clock;
  const auto made = MakeModel(proto::Job(), shape, 0, clock);
  ASSERT_TRUE(made.ok()) << made.status();
  Model& model = **made;
  const std::span<float> parameters = model.parameters().host();
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i] = Pattern(static_cast<int64_t>(i), 0.05);
  }
  Batch batch;
  for (int64_t i = 0; i < 8 * shape.pixels(); ++i) batch.images.push_back(Pattern(i, 1.0));
  for (int64_t i = 0; i < 8; ++i) batch.labels.push_back(i % 10);
  EXPECT_NEAR(model.ForwardBackward(batch, 1.0, {}), golden::kMlpLoss, 1e-6 * golden::kMlpLoss);
  const std::span<const float> gradients = model.gradients().host();
  double square = 0;
  for (const float g : gradients) square += double{g} * g;
  EXPECT_NEAR(std::sqrt(square), golden::kMlpGradientNorm, 1e-5 * golden::kMlpGradientNorm);
  for (size_t i = 0; i < golden::kMlpCoordinates.size(); ++i) {
    EXPECT_NEAR(gradients[golden::kMlpCoordinates[i]], golden::kMlpGradient[i], 1e-6) << i;
  }
}

}  // namespace
}  // namespace crossover::worker
