#include "core/histogram.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(HistogramTest, StartsEmpty) {
  const Histogram histogram;
  EXPECT_EQ(histogram.total(), 0);
  EXPECT_EQ(histogram.max(), -1);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_THAT(histogram.counts(), IsEmpty());
}

TEST(HistogramTest, CountsValues) {
  Histogram histogram;
  histogram.Add(3);
  histogram.Add(0, 2);
  histogram.Add(3);
  histogram.Add(50, 0);  // nothing
  EXPECT_EQ(histogram.total(), 4);
  EXPECT_EQ(histogram.max(), 3);
  EXPECT_DOUBLE_EQ(histogram.mean(), 1.5);
  EXPECT_THAT(histogram.counts(), ElementsAre(2, 0, 0, 2));
}

TEST(HistogramTest, TheLastSlotHoldsEverythingAbove) {
  Histogram histogram(3);
  histogram.Add(2);
  histogram.Add(3);
  histogram.Add(1'000'000'000'000);
  EXPECT_THAT(histogram.counts(), ElementsAre(0, 0, 3));
  EXPECT_EQ(histogram.max(), 1'000'000'000'000);
  // The mean is that of the values, not of the slots.
  EXPECT_DOUBLE_EQ(histogram.mean(), 1'000'000'000'005 / 3.0);
}

TEST(HistogramTest, MergeAdds) {
  Histogram a(4);
  a.Add(1, 2);
  Histogram b(4);
  b.Add(0);
  b.Add(7);
  a.Merge(b);
  EXPECT_THAT(a.counts(), ElementsAre(1, 2, 0, 1));
  EXPECT_EQ(a.total(), 4);
  EXPECT_EQ(a.max(), 7);
  EXPECT_DOUBLE_EQ(a.mean(), 9 / 4.0);
  a.Merge(Histogram(4));
  EXPECT_EQ(a.total(), 4);
  EXPECT_EQ(a.max(), 7);
}

TEST(HistogramDeathTest, RefusesWhatIsNoCount) {
  Histogram histogram(4);
  EXPECT_DEATH(histogram.Add(-1), "not negative");
  EXPECT_DEATH(histogram.Add(1, -1), "not negative");
  EXPECT_DEATH(histogram.Merge(Histogram(5)), "equal slots");
  EXPECT_DEATH(Histogram(0), "has a slot");
}

}  // namespace
}  // namespace crossover
