#include "bench/comm/record_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "bench/comm/limits.h"

namespace crossover::bench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// 1 Gbit/s carries 1e9 / 8 x 1448 / 1538 = 117.7 MB/s of TCP's payload.
Record InLab(int64_t bytes, double busbw_GBps) {
  Record record;
  record.library = "crossover";
  record.transport = "tcp";
  record.algorithm = "ring";
  record.op = "all_reduce";
  record.network = "1gbit,0.5ms";
  record.ranks = 2;
  record.bytes = bytes;
  record.busbw_GBps = busbw_GBps;
  return record;
}

std::string ErrorOf(const Record& record) {
  return std::string(CheckRecords({InLab(4096, 1), record}).message());
}

TEST(RecordCheck, AFigureAboveTheLinkIsImpossible) {
  EXPECT_EQ(ErrorOf(InLab(16 << 20, 0.1199)), "");  // within 2%
  EXPECT_THAT(ErrorOf(InLab(16 << 20, 0.1202)),
              AllOf(HasSubstr("impossible: crossover ring, all_reduce of 16M among 2 ranks"),
                    HasSubstr("0.1202 GB/s"), HasSubstr("0.1177 GB/s")));
}

TEST(RecordCheck, WhatMayBeFasterIsNotJudged) {
  // Small sizes lie in buffers on the way, and a limit is no collective.
  EXPECT_EQ(ErrorOf(InLab((16 << 20) - 4, 10)), "");
  Record limit = InLab(16 << 20, 10);
  limit.library = kLimitLibrary;
  EXPECT_EQ(ErrorOf(limit), "");
  Record loopback = InLab(16 << 20, 10);
  for (const char* none : {"", "loopback"}) {
    loopback.network = none;
    EXPECT_EQ(ErrorOf(loopback), "");
  }
}

TEST(RecordCheck, WrongElementsAreCountedAndNamed) {
  Record wrong = InLab(8192, 1);
  wrong.wrong = 3;
  EXPECT_THAT(ErrorOf(wrong), HasSubstr("crossover tcp ring, all_reduce of 8192 bytes: 3 wrong"));
}

TEST(RecordCheck, ANetworkThatIsNoneIsAnError) {
  Record strange = InLab(16 << 20, 0.1);
  strange.network = "1gbut";
  EXPECT_THAT(ErrorOf(strange), HasSubstr("1gbut"));
}

// Two ranks of four on a node: half of the values cross between nodes, where 3/4 would.
TEST(RecordCheck, RanksThatShareANodeMayBeFasterThanItsLink) {
  Record record = InLab(16 << 20, 0.1765);
  record.ranks = 4;
  EXPECT_THAT(ErrorOf(record), HasSubstr("impossible"));
  record.ranks_per_node = 2;
  EXPECT_EQ(ErrorOf(record), "");
  record.busbw_GBps = 0.182;
  EXPECT_THAT(ErrorOf(record), AllOf(HasSubstr("with 2 to a node"), HasSubstr("0.1765 GB/s")));
  record.op = "broadcast";
  record.busbw_GBps = 0.13;
  EXPECT_THAT(ErrorOf(record), HasSubstr("0.1177 GB/s"));
  record.ranks_per_node = 4;  // one node
  EXPECT_EQ(ErrorOf(record), "");
}

Record Measured() {
  Record record = InLab(4096, 0);
  record.time_us = 10;
  record.time_us_min = 9;
  record.time_us_max = 11;
  record.slowest_rank = 1;
  record.rank_time_us = {9, 10};
  SetRates(record);
  return record;
}

std::string ReadError(const std::string& text) {
  return std::string(ReadResults(text).status().message());
}

TEST(ReadResults, TakesWhatWasMeasuredWhateverTheRound) {
  Record second = Measured();
  second.round = 1;
  const auto records = ReadResults(WriteRecord(Measured()) + "\n\n" + WriteRecord(second) + "\n");
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ(records->size(), 2);
}

TEST(ReadResults, NoLineIsPassedOver) {
  const std::string line = WriteRecord(Measured()) + "\n";
  EXPECT_THAT(ReadError(line + " " + line), HasSubstr("line 2 does not begin with '{'"));
  EXPECT_THAT(ReadError("\xef\xbb\xbf" + line), HasSubstr("line 1 does not begin with '{'"));
  EXPECT_THAT(ReadError("\n" + line + "\n" + line),
              HasSubstr("lines 2 and 4 are of one measurement and round"));
  Record other = Measured();
  other.reduce = "max";
  EXPECT_EQ(ReadError(line + WriteRecord(other) + "\n"), "");
}

TEST(ReadResults, ValuesThatNothingCanHaveAreRefusedByLine) {
  const auto with = [](const std::function<void(Record&)>& change) {
    Record record = Measured();
    change(record);
    return ReadError("\n" + WriteRecord(record) + "\n");
  };
  EXPECT_EQ(with([](Record&) {}), "");
  EXPECT_THAT(with([](Record& r) { r.time_us = -5; }), HasSubstr("line 2: time_us is -5"));
  EXPECT_THAT(with([](Record& r) { r.time_us = 0; }), HasSubstr("allowed: above 0"));
  EXPECT_THAT(with([](Record& r) { r.ranks = 0; }), HasSubstr("ranks is 0; allowed: 1 to 65536"));
  EXPECT_THAT(with([](Record& r) { r.ranks = int64_t{1} << 32; }), HasSubstr("ranks is"));
  EXPECT_THAT(with([](Record& r) { r.bytes = -4; }), HasSubstr("bytes is -4"));
  EXPECT_THAT(with([](Record& r) { r.cpu_us = -1; }), HasSubstr("cpu_us is -1"));
  EXPECT_THAT(with([](Record& r) { r.slowest_rank = 77; }), HasSubstr("slowest_rank is 77"));
  EXPECT_THAT(with([](Record& r) { r.rank_time_us = {1}; }), HasSubstr("a list of 1; allowed"));
  EXPECT_THAT(with([](Record& r) { r.op = "foo"; }), HasSubstr("op is foo"));
  EXPECT_THAT(with([](Record& r) { r.type = "fp8"; }), HasSubstr("type is fp8"));
  EXPECT_THAT(with([](Record& r) { r.busbw_GBps = 9999; }), HasSubstr("busbw_GBps is 9999"));
  EXPECT_THAT(with([](Record& r) { r.algbw_GBps = -1; }), HasSubstr("algbw_GBps is -1"));
  EXPECT_THAT(with([](Record& r) { r.rank_time_us = {1, -1}; }), HasSubstr("rank_time_us is -1"));
  const auto of_peer = [](Record& r) {
    r.library = "gloo";
    r.busbw_GBps = 0.001;
  };
  EXPECT_THAT(with(of_peer), HasSubstr("busbw_GBps is 0.001"));
  const auto of_idle_stream = [](Record& r) {
    r.library = kLimitLibrary;
    r.op = "copy";
    r.time_us = r.algbw_GBps = r.busbw_GBps = 0;
  };
  EXPECT_EQ(with(of_idle_stream), "");
}

}  // namespace
}  // namespace crossover::bench
