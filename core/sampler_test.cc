#include "core/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// DistributedSampler, line by line.
std::vector<int64_t> Reference(std::vector<int64_t> indices, int rank, int ranks, bool drop_last) {
  const int64_t n = static_cast<int64_t>(indices.size());
  int64_t per_rank = 0;
  if (drop_last && n % ranks != 0) {
    per_rank = static_cast<int64_t>(std::ceil((n - ranks) / static_cast<double>(ranks)));
  } else {
    per_rank = static_cast<int64_t>(std::ceil(n / static_cast<double>(ranks)));
  }
  const int64_t total = per_rank * ranks;
  if (drop_last) {
    indices.resize(total);
  } else {
    const int64_t padding = total - n;
    const std::vector<int64_t> head = indices;
    if (padding <= n) {
      indices.insert(indices.end(), head.begin(), head.begin() + padding);
    } else {
      std::vector<int64_t> repeated;
      for (int64_t i = 0; i < (padding + n - 1) / n; ++i) {
        repeated.insert(repeated.end(), head.begin(), head.end());
      }
      indices.insert(indices.end(), repeated.begin(), repeated.begin() + padding);
    }
  }
  std::vector<int64_t> own;
  for (int64_t i = rank; i < total; i += ranks) own.push_back(indices[i]);
  return own;
}

TEST(SamplerTest, PadsFromTheHeadOfThePermutation) {
  const std::vector<int64_t> permutation = {4, 0, 3, 1, 2};
  EXPECT_EQ(SamplesPerRank(5, 3, false), 2);
  EXPECT_THAT(RankSamples(permutation, 0, 3, false), ElementsAre(4, 1));
  EXPECT_THAT(RankSamples(permutation, 1, 3, false), ElementsAre(0, 2));
  EXPECT_THAT(RankSamples(permutation, 2, 3, false), ElementsAre(3, 4));
}

TEST(SamplerTest, DropLastCutsTheTail) {
  const std::vector<int64_t> permutation = {4, 0, 3, 1, 2};
  EXPECT_EQ(SamplesPerRank(5, 2, true), 2);
  EXPECT_THAT(RankSamples(permutation, 0, 2, true), ElementsAre(4, 3));
  EXPECT_THAT(RankSamples(permutation, 1, 2, true), ElementsAre(0, 1));
}

TEST(SamplerTest, FewerSamplesThanRanksCycle) {
  const std::vector<int64_t> permutation = {1, 0};
  for (int rank = 0; rank < 7; ++rank) {
    EXPECT_THAT(RankSamples(permutation, rank, 7, false), ElementsAre(rank % 2 == 0 ? 1 : 0));
    EXPECT_THAT(RankSamples(permutation, rank, 7, true), IsEmpty());
  }
}

TEST(SamplerTest, OneRankTakesThePermutationItself) {
  const std::vector<int64_t> permutation = {2, 0, 1};
  EXPECT_EQ(RankSamples(permutation, 0, 1, false), permutation);
  EXPECT_EQ(RankSamples(permutation, 0, 1, true), permutation);
}

TEST(SamplerTest, EqualsPyTorchsRuleForAllSmallCases) {
  for (int64_t samples = 1; samples <= 25; ++samples) {
    std::vector<int64_t> permutation(samples);
    std::iota(permutation.begin(), permutation.end(), 0);
    std::rotate(permutation.begin(), permutation.begin() + samples / 3, permutation.end());
    for (int ranks = 1; ranks <= 9; ++ranks) {
      for (bool drop_last : {false, true}) {
        for (int rank = 0; rank < ranks; ++rank) {
          const auto own = RankSamples(permutation, rank, ranks, drop_last);
          EXPECT_EQ(own, Reference(permutation, rank, ranks, drop_last))
              << samples << " samples, rank " << rank << " of " << ranks << ", drop_last "
              << drop_last;
          EXPECT_EQ(static_cast<int64_t>(own.size()), SamplesPerRank(samples, ranks, drop_last));
        }
      }
    }
  }
}

TEST(SamplerDeathTest, RefusesARankOutsideTheJob) {
  const std::vector<int64_t> permutation = {0, 1};
  EXPECT_DEATH(RankSamples(permutation, 2, 2, false), "a rank lies in");
  EXPECT_DEATH(RankSamples(permutation, -1, 2, false), "a rank lies in");
  EXPECT_DEATH(SamplesPerRank(0, 2, false), "a data set has samples");
}

}  // namespace
}  // namespace crossover
