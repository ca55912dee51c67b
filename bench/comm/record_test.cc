#include "bench/comm/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover::bench {
namespace {

using testing::HasSubstr;

// As bench/peers print it.
constexpr char kPeerLine[] =
    R"({"library":"gloo","transport":"tcp","algorithm":"ring","op":"all_reduce","type":"fp32",)"
    R"("reduce":"sum","in_place":true,"ranks":4,"bytes":4096,"time_us":100.5,"time_us_min":90,)"
    R"("time_us_max":120,"algbw_GBps":0.04,"busbw_GBps":0.06,"cpu_us":300,"wrong":0})";

TEST(Record, OwnLinesAreReadBack) {
  Record record;
  record.library = "crossover";
  record.op = "all_reduce";
  record.ranks = 4;
  record.bytes = 1 << 20;
  record.time_us = 1000;
  record.slowest_rank = 2;
  record.rank_time_us = {1, 2, 3, 4};
  SetRates(record);
  EXPECT_DOUBLE_EQ(record.algbw_GBps, 1.048576);
  EXPECT_DOUBLE_EQ(record.busbw_GBps, 1.048576 * 1.5);
  const auto again = ReadRecord(WriteRecord(record));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(WriteRecord(*again), WriteRecord(record));
}

TEST(Record, BusFactors) {
  EXPECT_DOUBLE_EQ(BusFactor("all_reduce", 4), 1.5);
  EXPECT_DOUBLE_EQ(BusFactor("reduce_scatter", 4), 0.75);
  EXPECT_DOUBLE_EQ(BusFactor("all_gather", 2), 0.5);
  EXPECT_DOUBLE_EQ(BusFactor("broadcast", 4), 1);
  EXPECT_DOUBLE_EQ(BusFactor("all_reduce", 1), 0);
}

TEST(Record, PeersLinesAmongWhatLaunchersSay) {
  const auto records = ReadRecords(std::string("mpirun: hello\n\n") + kPeerLine + "\n");
  ASSERT_TRUE(records.ok()) << records.status();
  ASSERT_EQ(records->size(), 1);
  EXPECT_EQ(records->front().library, "gloo");
  EXPECT_EQ(records->front().buffers, "private");
  EXPECT_DOUBLE_EQ(records->front().time_us, 100.5);
}

TEST(Record, ALineThatWasCutIsAnError) {
  const auto records = ReadRecords(std::string(kPeerLine, 100));
  ASSERT_FALSE(records.ok());
  const auto missing = ReadRecords("mpirun: hello\n{\"library\":\"gloo\"}\n");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr("line 2: not a line of comm_test"));
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("'transport' is missing"));
  const std::string whole = std::string(kPeerLine) + "\n";
  EXPECT_EQ(std::string(ReadRecords(whole + std::string(kPeerLine, 100)).status().message()),
            "line 2, the last, was cut off while it was written; fix: delete that line");
  EXPECT_THAT(std::string(ReadRecords(std::string(kPeerLine, 100) + "\n").status().message()),
              HasSubstr("line 1: not a line"));
}

}  // namespace
}  // namespace crossover::bench
