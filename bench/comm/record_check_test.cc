#include "bench/comm/record_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace crossover::bench
