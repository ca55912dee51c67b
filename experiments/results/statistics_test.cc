#include "experiments/results/statistics.h"

#include <gtest/gtest.h>

namespace crossover::experiments {
namespace {

TEST(MedianTest, OddEvenAndOne) {
  EXPECT_EQ(Median({7}), 7);
  EXPECT_EQ(Median({9, 1, 5}), 5);
  EXPECT_EQ(Median({10, 1, 4, 2}), 3);
  EXPECT_EQ(Median({2, 2, 2, 9}), 2);
}

TEST(PercentileTest, NearestRank) {
  EXPECT_EQ(Percentile({7}, 95), 7);
  std::vector<double> values;
  for (int i = 20; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(Percentile(values, 95), 19);  // ceil(.95 x 20) = 19th smallest
  EXPECT_EQ(Percentile(values, 100), 20);
  EXPECT_EQ(Percentile(values, 1), 1);
  values.push_back(21);
  EXPECT_EQ(Percentile(values, 95), 20);  // ceil(19.95) = 20th
}

TEST(SpreadTest, OneIsSingleFewAreARangeSixAreABootstrap) {
  EXPECT_EQ(SpreadOf({4}).kind, SpreadKind::kSingle);
  const Spread range = SpreadOf({4, 1, 3, 9, 2});
  EXPECT_EQ(range.kind, SpreadKind::kRange);
  EXPECT_EQ(range.low, 1);
  EXPECT_EQ(range.high, 9);
  EXPECT_EQ(SpreadOf({1, 2, 3, 4, 5, 6}).kind, SpreadKind::kBootstrap95);
}

TEST(SpreadTest, BootstrapIsRepeatableAndNarrowerThanTheRange) {
  const std::vector<double> values = {1, 10, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 30};
  const Spread a = SpreadOf(values, 5);
  const Spread b = SpreadOf(values, 5);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_GT(a.low, 1);
  EXPECT_LT(a.high, 30);
  EXPECT_LE(a.low, 10.3);
  EXPECT_GE(a.high, 10.3);
}

TEST(SpreadTest, BootstrapOfEqualValuesIsThatValue) {
  const Spread spread = SpreadOf({3, 3, 3, 3, 3, 3});
  EXPECT_EQ(spread.low, 3);
  EXPECT_EQ(spread.high, 3);
}

TEST(CompareTest, PairsByRepetition) {
  // Each repetition is 10 faster than the last, but a is always 1 ahead of b: unpaired
  // ranges overlap, paired differences do not.
  const PairedDifference d = Compare({{0, 11}, {1, 21}, {2, 31}}, {{0, 10}, {1, 20}, {2, 30}});
  EXPECT_EQ(d.comparison, Comparison::kHigher);
  EXPECT_EQ(d.pairs, 3);
  EXPECT_EQ(d.median, 1);
  EXPECT_EQ(d.spread.low, 1);
  EXPECT_EQ(d.spread.high, 1);
}

TEST(CompareTest, ATieHoldsZero) {
  EXPECT_EQ(Compare({{0, 11}, {1, 19}}, {{0, 10}, {1, 20}}).comparison, Comparison::kTie);
  EXPECT_EQ(Compare({{0, 10}, {1, 22}}, {{0, 10}, {1, 20}}).comparison, Comparison::kTie);
  EXPECT_EQ(Compare({{0, 9}, {1, 19}}, {{0, 10}, {1, 20}}).comparison, Comparison::kLower);
}

TEST(CompareTest, OneOrNoCommonRepetitionDecidesNothing) {
  const PairedDifference one = Compare({{0, 100}, {1, 5}}, {{0, 1}, {2, 5}});
  EXPECT_EQ(one.comparison, Comparison::kUnknown);
  EXPECT_EQ(one.pairs, 1);
  EXPECT_EQ(one.median, 99);
  const PairedDifference none = Compare({{0, 100}}, {{1, 1}});
  EXPECT_EQ(none.comparison, Comparison::kUnknown);
  EXPECT_EQ(none.pairs, 0);
}

TEST(CompareTest, SixPairsUseTheBootstrap) {
  std::map<int64_t, double> a, b;
  for (int i = 0; i < 6; ++i) {
    b[i] = 100;
    a[i] = i == 0 ? 99 : 105 + i;  // one bad repetition of six does not make a tie
  }
  const PairedDifference d = Compare(a, b);
  EXPECT_EQ(d.spread.kind, SpreadKind::kBootstrap95);
  EXPECT_EQ(d.median, 7.5);
}

TEST(CompareUnpairedTest, FewValuesTieWhereTheirRangesOverlap) {
  const PairedDifference apart = CompareUnpaired({11, 12, 13}, {8, 9, 10});
  EXPECT_EQ(apart.comparison, Comparison::kHigher);
  EXPECT_EQ(apart.median, 3);
  EXPECT_EQ(apart.spread.kind, SpreadKind::kRange);
  EXPECT_EQ(apart.spread.low, 1);
  EXPECT_EQ(apart.spread.high, 5);
  EXPECT_EQ(CompareUnpaired({8, 9, 10}, {11, 12, 13}).comparison, Comparison::kLower);
  EXPECT_EQ(CompareUnpaired({9, 12, 13}, {8, 9, 10}).comparison, Comparison::kTie);
  EXPECT_EQ(CompareUnpaired({5, 5}, {5, 5}).comparison, Comparison::kTie);
}

TEST(CompareUnpairedTest, OneValueOrNoneDecidesNothing) {
  EXPECT_EQ(CompareUnpaired({100}, {1, 2, 3}).comparison, Comparison::kUnknown);
  EXPECT_EQ(CompareUnpaired({100}, {1, 2, 3}).median, 98);
  EXPECT_EQ(CompareUnpaired({}, {1, 2}).comparison, Comparison::kUnknown);
}

TEST(CompareUnpairedTest, SixOnBothSidesUseTheBootstrap) {
  // One odd value on each side makes the ranges overlap; the medians stay apart.
  const std::vector<double> a = {20, 20.1, 20.2, 20.3, 20.4, 20.5, 20.6, 20.7, 1};
  const std::vector<double> b = {10, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 10.7, 30};
  const PairedDifference difference = CompareUnpaired(a, b);
  EXPECT_EQ(difference.spread.kind, SpreadKind::kBootstrap95);
  EXPECT_EQ(difference.comparison, Comparison::kHigher);
  EXPECT_EQ(CompareUnpaired(a, a).comparison, Comparison::kTie);
}

TEST(ChanceOfDisjointRangesTest, CountsTheOrders) {
  EXPECT_EQ(ChanceOfDisjointRanges(1, 1), 1);
  EXPECT_DOUBLE_EQ(ChanceOfDisjointRanges(2, 2), 2.0 / 6);
  EXPECT_DOUBLE_EQ(ChanceOfDisjointRanges(3, 3), 2.0 / 20);
  EXPECT_DOUBLE_EQ(ChanceOfDisjointRanges(3, 5), 2.0 / 56);
}

}  // namespace
}  // namespace crossover::experiments
