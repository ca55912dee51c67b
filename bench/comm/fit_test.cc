#include "bench/comm/fit.h"

#include <gtest/gtest.h>

namespace crossover::bench {
namespace {

using allreduce::Algorithm;
using allreduce::Kind;

TEST(Fit, WorkOfTheRing) {
  const Work work = WorkOf(Kind::kAllReduce, Algorithm::kRing, 4, 4 << 20);
  EXPECT_DOUBLE_EQ(work.steps, 6);                // 2 (N-1)
  EXPECT_DOUBLE_EQ(work.bytes, 1.5 * (4 << 20));  // 2 (N-1)/N M
}

TEST(Fit, FindsTheConstantsThatMadeTheTimes) {
  std::vector<Record> records;
  for (const int ranks : {2, 4}) {
    for (const int64_t bytes : {4 << 10, 64 << 10, 1 << 20, 16 << 20}) {
      const Work work = WorkOf(Kind::kAllReduce, Algorithm::kRing, ranks, bytes);
      Record record;
      record.library = "crossover";
      record.transport = "tcp";
      record.algorithm = "ring";
      record.op = "all_reduce";
      record.ranks = ranks;
      record.bytes = bytes;
      record.time_us = 7 * work.steps + 500 * work.bytes * 1e-6;
      records.push_back(record);
      record.library = "gloo";  // not ours: left out
      record.time_us = 1;
      records.push_back(record);
    }
  }
  const std::vector<AlphaBeta> fits = FitAlphaBeta(records);
  ASSERT_EQ(fits.size(), 1);
  EXPECT_NEAR(fits[0].alpha_us, 7, 1e-6);
  EXPECT_NEAR(fits[0].beta_us_per_MB, 500, 1e-6);
  EXPECT_NEAR(fits[0].error_median, 0, 1e-9);
  EXPECT_EQ(fits[0].points, 8);
}

TEST(Fit, ConstantsAreNotNegative) {
  std::vector<Record> records;
  for (const int64_t bytes : {4 << 10, 1 << 20}) {
    Record record;
    record.library = "crossover";
    record.algorithm = "ring";
    record.op = "all_reduce";
    record.ranks = 2;
    record.bytes = bytes;
    record.time_us = bytes == 4 << 10 ? 100 : 10;  // larger is faster
    records.push_back(record);
  }
  const std::vector<AlphaBeta> fits = FitAlphaBeta(records);
  ASSERT_EQ(fits.size(), 1);
  EXPECT_GT(fits[0].alpha_us, 0);
  EXPECT_EQ(fits[0].beta_us_per_MB, 0);
}

}  // namespace
}  // namespace crossover::bench
