#include "experiments/hosts/host_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover::experiments {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

HostsReport TwoHosts() {
  HostsReport report;
  report.hosts = {{.name = "10.0.0.1",
                   .processes = {"worker 0", "server 0"},
                   .address = "10.0.0.1",
                   .choice = "10.0.0.1 (eth0): the address that ssh reached",
                   .hostname = "a",
                   .kernel = "Linux 6.1",
                   .cores = 4,
                   .clock_offset_s = -0.002,
                   .clock_error_s = 0.0004},
                  {.name = "b",
                   .processes = {"worker 1"},
                   .address = "10.0.0.2",
                   .choice = "10.0.0.2 (eth0)",
                   .hostname = "b",
                   .kernel = "Linux 6.1",
                   .cores = 8,
                   .clock_offset_s = 3600,
                   .clock_error_s = 0.1}};
  report.pairs = {{0, 1, {.rtt_us = 120, .bytes_per_s = 117e6}},
                  {1, 0, {.rtt_us = 130, .bytes_per_s = 50e6}}};
  report.together_bytes_per_s = {110e6, 45e6};
  return report;
}

TEST(HostReport, HasALineForEachHostAndEachDirection) {
  const std::string text = HostsText(TwoHosts());
  EXPECT_THAT(text, HasSubstr("10.0.0.1  worker 0, server 0; 4 cores, Linux 6.1, clock -2.0 ms "
                              "(within 400 us)\n    listens on 10.0.0.1 (eth0)"));
  EXPECT_THAT(text, HasSubstr("10.0.0.1 -> b              120 us     117.0 MB/s"));
  EXPECT_THAT(text, HasSubstr("b        -> 10.0.0.1       130 us      50.0 MB/s"));
  EXPECT_THAT(text, HasSubstr("110.0 MB/s"));
}

TEST(HostReport, WarnsOfClocksThatAreOffByMoreThanAMinute) {
  HostsReport report = TwoHosts();
  EXPECT_THAT(ClockWarnings(report),
              ElementsAre(HasSubstr("the clock of b is 60 min ahead of this machine's")));
  report.hosts[1].clock_offset_s = -61;
  EXPECT_THAT(ClockWarnings(report), ElementsAre(HasSubstr("is 61.0 s behind")));
  report.hosts[1].clock_offset_s = 60;
  EXPECT_THAT(ClockWarnings(report), ElementsAre());
}

TEST(HostReport, ResultsHoldWhatAllHostsReachAtOnce) {
  const Network network = NetworkOfHosts(TwoHosts());
  EXPECT_EQ(network.kind, "hosts");
  EXPECT_FALSE(network.loopback);
  EXPECT_EQ(network.interface, "10.0.0.1, 10.0.0.2");
  ASSERT_EQ(network.probe.size(), 2u);
  EXPECT_EQ(network.probe[0].send_bytes_per_s, 110e6);
  EXPECT_EQ(network.probe[0].receive_bytes_per_s, 45e6);
  EXPECT_EQ(network.probe[0].rtt_us, 120);
  EXPECT_EQ(network.probe[1].rtt_us, 130);
  EXPECT_EQ(network.probe[0].clock_offset_s, -0.002);
  EXPECT_EQ(network.probe[0].clock_error_s, 0.0004);
  EXPECT_EQ(network.probe[1].clock_offset_s, 3600);
}

TEST(HostReport, OneHostIsItsOwnLoopback) {
  HostsReport report = TwoHosts();
  report.hosts.pop_back();
  report.pairs.clear();
  report.together_bytes_per_s.clear();
  EXPECT_TRUE(NetworkOfHosts(report).loopback);
  EXPECT_EQ(NetworkOfHosts(report).probe[0].send_bytes_per_s, 0);
}

}  // namespace
}  // namespace crossover::experiments
