#include "allreduce/choice_ranges.h"

#include <gtest/gtest.h>

namespace crossover::allreduce {
namespace {

TEST(ChoiceRanges, OneChoiceHasNoBound) {
  const auto ranges = ChoiceRanges([](int64_t) { return Algorithm::kTree; });
  ASSERT_EQ(ranges.size(), 1);
  EXPECT_EQ(ranges[0].algorithm, Algorithm::kTree);
  EXPECT_EQ(ranges[0].up_to_bytes, 0);
  EXPECT_EQ(RangesText(ranges), "tree for all sizes");
}

TEST(ChoiceRanges, FindsTheLastSizeOfEach) {
  const auto choose = [](int64_t bytes) {
    if (bytes <= 3276) return Algorithm::kRecursiveDoubling;
    if (bytes <= 4000) return Algorithm::kTree;  // within one doubling of the last
    return bytes <= 1'153'436 ? Algorithm::kHalvingDoubling : Algorithm::kRing;
  };
  const auto ranges = ChoiceRanges(choose);
  ASSERT_EQ(ranges.size(), 4);
  EXPECT_EQ(ranges[0].up_to_bytes, 3276);
  EXPECT_EQ(ranges[1].up_to_bytes, 4000);
  EXPECT_EQ(ranges[2].up_to_bytes, 1'153'436);
  EXPECT_EQ(RangesText(ranges),
            "recursive_doubling up to 3.2 KiB, tree up to 3.9 KiB, halving_doubling up to 1.1 MiB, "
            "ring above");
}

TEST(ChoiceRanges, AreThoseOfTheCheapestByAFit) {
  const Place place = {.rank = 0, .world_size = 8, .root = 0, .host_of = {}};
  proto::TransportCosts costs;
  costs.set_alpha_us(100);
  costs.set_message_us(1);
  costs.set_beta_us_per_byte(8e-3);
  costs.set_gamma_us_per_byte(1e-4);
  const CostFit fit = FitOf(costs);
  const auto choose = [&](int64_t bytes) { return Choose(Kind::kAllReduce, bytes, place, fit); };
  const auto ranges = ChoiceRanges(choose);
  ASSERT_GE(ranges.size(), 2);
  EXPECT_EQ(ranges.back().algorithm, Algorithm::kRing);
  for (size_t i = 0; i + 1 < ranges.size(); ++i) {
    EXPECT_EQ(choose(ranges[i].up_to_bytes), ranges[i].algorithm);
    EXPECT_EQ(choose(ranges[i].up_to_bytes + 4), ranges[i + 1].algorithm);
  }
  // A dearer step moves the ring's sizes up.
  costs.set_alpha_us(1000);
  const auto dearer = ChoiceRanges(
      [&](int64_t bytes) { return Choose(Kind::kAllReduce, bytes, place, FitOf(costs)); });
  EXPECT_GT(dearer[dearer.size() - 2].up_to_bytes, ranges[ranges.size() - 2].up_to_bytes);
}

}  // namespace
}  // namespace crossover::allreduce
