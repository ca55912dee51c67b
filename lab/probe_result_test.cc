#include "lab/probe_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover::lab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ProbedNode Good(const std::string& name, const std::string& next) {
  return {.name = name,
          .send_bytes_per_s = 117e6,
          .receive_bytes_per_s = 118e6,
          .promised_send_bytes_per_s = 117.7e6,
          .promised_receive_bytes_per_s = 117.7e6,
          .next = next,
          .rtt_us_min = 1050,
          .rtt_us_median = 1100,
          .promised_rtt_us = 1000};
}

ProbeResult Result() {
  return {.lab = "2 nodes at 1gbit", .seconds = 1, .nodes = {Good("a", "b"), Good("b", "a")}};
}

std::string Error(const ProbeResult& result) { return std::string(CheckProbe(result).message()); }

TEST(ProbeResultTest, WithinTwoPercentIsKept) {
  EXPECT_TRUE(CheckProbe(Result()).ok()) << Error(Result());
  EXPECT_DOUBLE_EQ(TotalBytesPerS(Result()), 236e6);
  EXPECT_TRUE(CheckProbe({}).ok());
}

TEST(ProbeResultTest, TheWorstRateIsNamedWithWhatTheMachineCanDo) {
  ProbeResult result = Result();
  result.nodes[0].send_bytes_per_s = 115e6;
  result.nodes[1].receive_bytes_per_s = 58.85e6;
  EXPECT_THAT(Error(result),
              AllOf(HasSubstr("(2 nodes at 1gbit)"),
                    HasSubstr("b receives 58.85 MB/s where 117.7 MB/s were promised"),
                    HasSubstr("this machine reaches 176.8 MB/s"), HasSubstr("ask for 45%")));
}

TEST(ProbeResultTest, TooFastIsALimitThatDoesNotHold) {
  ProbeResult result = Result();
  result.nodes[0].send_bytes_per_s = 130e6;
  EXPECT_THAT(Error(result), HasSubstr("the limits do not hold"));
}

TEST(ProbeResultTest, NoPromiseNoFault) {
  ProbeResult result = Result();
  result.nodes[0].send_bytes_per_s = 1;
  result.nodes[0].promised_send_bytes_per_s = 0;
  EXPECT_TRUE(CheckProbe(result).ok());
}

TEST(ProbeResultTest, RoundTripsHaveTwoBounds) {
  ProbeResult result = Result();
  result.nodes[1].rtt_us_min = 970;
  EXPECT_THAT(Error(result),
              HasSubstr("from b to a is 970 us; allowed: 980 to 2020 us; the delay"));
  result.nodes[1].rtt_us_min = 2500;
  EXPECT_THAT(Error(result), HasSubstr("end what else runs here"));
  result.nodes[1].next = "";
  EXPECT_TRUE(CheckProbe(result).ok());
}

TEST(ProbeResultTest, TextHasALineANode) {
  const std::string text = ProbeText(Result());
  EXPECT_THAT(text, HasSubstr("a          sends 117 MB/s of 117.7, receives 118 MB/s of 117.7"));
  EXPECT_THAT(text, HasSubstr("round trip to b 1050 us, median 1100"));
  EXPECT_THAT(text, HasSubstr("236 MB/s together"));
}

}  // namespace
}  // namespace crossover::lab
