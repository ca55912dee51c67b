#include "bench/comm/cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/comm/table.h"
#include "bench/comm/targets.h"

namespace crossover::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

Record RecordOf(const std::string& library, const std::string& algorithm, int64_t bytes,
                int64_t round, double time_us) {
  Record record;
  record.library = library;
  record.transport = "tcp";
  record.algorithm = algorithm;
  record.op = "all_reduce";
  record.ranks = 2;
  record.bytes = bytes;
  record.round = round;
  record.time_us = record.time_us_min = record.time_us_max = time_us;
  record.cpu_us = 2 * time_us;
  record.slowest_rank = 1;
  record.rank_time_us = {time_us / 2, time_us};
  SetRates(record);
  return record;
}

TEST(Cells, RatiosArePairedByRound) {
  std::vector<Record> records;
  for (int64_t round = 0; round < 3; ++round) {
    // The machine gets slower, and the ratio stays.
    const double drift = 1 + static_cast<double>(round);
    records.push_back(RecordOf("crossover", "ring", 4096, round, 10 * drift));
    records.push_back(RecordOf("gloo", "ring", 4096, round, 40 * drift));
    records.push_back(RecordOf("gloo", "bcube", 4096, round, 20 * drift));
    records.push_back(RecordOf("gloo", "bcube", 8192, round, 1));
  }
  const std::vector<Series> all = SeriesOf(records);
  ASSERT_EQ(all.size(), 4);
  EXPECT_DOUBLE_EQ(all[0].MedianTimeUs(), 20);
  const Series* best = BestPeer(all, all[0]);
  ASSERT_NE(best, nullptr);
  EXPECT_EQ(best->algorithm, "bcube");
  const auto ratio = SpeedRatio(all[0], *best);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_DOUBLE_EQ(ratio->median, 2);
  EXPECT_DOUBLE_EQ(ratio->spread.low, 2);
  EXPECT_DOUBLE_EQ(ratio->highest, 2);
  EXPECT_EQ(ratio->rounds, 3);
  EXPECT_EQ(BestPeer(all, all[0], "openmpi"), nullptr);
}

TEST(Cells, TablesKeepLatencyAndBandwidthApartAndNameTheSlowest) {
  const std::string text = Tables(SeriesOf({RecordOf("crossover", "ring", 4096, 0, 10),
                                            RecordOf("crossover", "ring", 1 << 20, 0, 1000),
                                            RecordOf("gloo", "ring", 1 << 20, 0, 3000)}));
  const size_t latency = text.find("Latency");
  const size_t bandwidth = text.find("Bandwidth");
  ASSERT_NE(latency, std::string::npos);
  ASSERT_NE(bandwidth, std::string::npos);
  EXPECT_THAT(text.substr(latency, bandwidth - latency), HasSubstr("4K"));
  EXPECT_THAT(text.substr(latency, bandwidth - latency), Not(HasSubstr("1M")));
  EXPECT_THAT(text, HasSubstr("1: 1000 of 750"));
  EXPECT_THAT(text, HasSubstr("3.00"));
}

TEST(Cells, ReductionsAndRanksANodeAreTold) {
  Record sum = RecordOf("crossover", "ring", 1 << 20, 0, 1000);
  Record max = sum;
  max.reduce = "max";
  Record near = sum;
  near.network = "1gbit";
  near.ranks_per_node = 2;
  Record alone = sum;
  alone.ranks = 1;
  const std::vector<Series> all = SeriesOf({sum, max, near, alone});
  ASSERT_EQ(all.size(), 4u);
  EXPECT_THAT(Tables(all), HasSubstr("ring max"));
  EXPECT_THAT(Tables(all), HasSubstr("1gbit, 2 ranks a node: crossover"));
  // One rank moves nothing over a bus and its bytes all the same.
  EXPECT_EQ(all[3].Busbw(), 0);
  EXPECT_NEAR(all[3].Algbw(), 1.048576, 1e-9);
}

std::vector<Verdict> JudgeTcpBandwidth(double our_time_us) {
  std::vector<Record> records;
  for (const int64_t ranks : {2, 4}) {
    for (const int64_t bytes : {16 << 20, 100 << 20}) {
      for (int64_t round = 0; round < 9; ++round) {
        for (const bool ours : {true, false}) {
          Record record = RecordOf(ours ? "crossover" : "openmpi", "ring", bytes, round,
                                   ours ? our_time_us : 1300);
          record.ranks = ranks;
          records.push_back(record);
        }
      }
    }
  }
  return TargetsNamed("tcp_bandwidth", AllTargets())->front().judge(SeriesOf(records));
}

TEST(Targets, ReachedAndMissed) {
  for (const Verdict& verdict : JudgeTcpBandwidth(999)) EXPECT_TRUE(verdict.reached);
  const std::vector<Verdict> missed = JudgeTcpBandwidth(1001);
  ASSERT_EQ(missed.size(), 4);
  for (const Verdict& verdict : missed) EXPECT_FALSE(verdict.reached);
  EXPECT_THAT(missed[0].found, HasSubstr("times as fast as openmpi ring; to reach: 1.3"));
}

TEST(Targets, WhatWasNotMeasuredIsNotReached) {
  for (const Target& target : AllTargets()) {
    const std::vector<Verdict> verdicts = target.judge({});
    EXPECT_FALSE(verdicts.empty()) << target.name;
    for (const Verdict& verdict : verdicts) EXPECT_FALSE(verdict.reached) << target.name;
    EXPECT_FALSE(target.runs.empty()) << target.name;
  }
}

TEST(Targets, UnknownNamesAreRefused) {
  const auto targets = TargetsNamed("cpu,fast", AllTargets());
  ASSERT_FALSE(targets.ok());
  EXPECT_THAT(std::string(targets.status().message()), HasSubstr("no fast; allowed: all, "));
}

}  // namespace
}  // namespace crossover::bench
