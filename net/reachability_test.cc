#include "net/reachability.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace crossover::net {
namespace {

std::string Check(const std::vector<MemberAddresses>& members) {
  return std::string(CheckReachable(members).message());
}

TEST(ReachabilityTest, OneHostMayUseLoopback) {
  EXPECT_EQ(Check({}), "");
  EXPECT_EQ(Check({{"worker 0", "127.0.0.1:4000", "127.0.0.1:50000"}}), "");
  // Its members may join through loopback or through the host's own address.
  for (const char* host : {"127.0.0.1", "10.0.0.1", "[fd00::1]", "[::1]"}) {
    const std::string peer = std::string(host) + ":50000";
    EXPECT_EQ(Check({{"worker 0", "127.0.0.1:4000", peer},
                     {"worker 1", "[::1]:4001", peer},
                     {"worker 2", "localhost:4002", peer},
                     {"server 0", "", peer}}),
              "");
  }
  EXPECT_EQ(Check({{"worker 0", "127.0.0.1:4000", "[::1]:50000"},
                   {"worker 1", "127.0.0.1:4001", "[::ffff:127.0.0.1]:50001"}}),
            "");
}

TEST(ReachabilityTest, SeveralHostsMayUseRoutableAddresses) {
  EXPECT_EQ(Check({{"worker 0", "10.0.0.1:4000", "10.0.0.1:50000"},
                   {"worker 1", "10.0.0.2:4000", "10.0.0.2:50000"},
                   {"server 0", "[fd00::3]:4000", "10.0.0.3:50000"},
                   {"worker 2", "node4:4000", "10.0.0.4:50000"}}),
            "");
  // Nobody connects to a worker that advertises nothing.
  EXPECT_EQ(Check({{"worker 0", "", "10.0.0.1:50000"},
                   {"worker 1", "", "10.0.0.2:50000"},
                   {"server 0", "10.0.0.1:4000", "10.0.0.1:50001"}}),
            "");
}

TEST(ReachabilityTest, NamesTheOneOnLoopbackWhenAnotherJoinedFromElsewhere) {
  EXPECT_EQ(
      Check({{"worker 0", "", "10.0.0.1:50000"},
             {"worker 1", "", "10.0.0.2:50000"},
             {"server 0", "127.0.0.1:4711", "10.0.0.1:50001"}}),
      "server 0 listens on 127.0.0.1:4711, which only its own host reaches, but worker 1 "
      "joined from 10.0.0.2; fix: start server 0 with --interface=10.0.0.1, whence it joined, "
      "or with a name or CIDR");
  EXPECT_EQ(Check({{"worker 0", "127.0.0.1:4000", "127.0.0.1:50000"},
                   {"worker 1", "127.0.0.1:4001", "[fd00::2]:50000"}}),
            "worker 0 listens on 127.0.0.1:4000, which only its own host reaches, but worker 1 "
            "joined from fd00::2; fix: start worker 0 with --interface=NAME, an address or a CIDR "
            "that the other hosts reach");
}

TEST(ReachabilityTest, NamesTheOneOnLoopbackWhenAnotherListensBeyondIt) {
  // Joined through a tunnel, so that all seem to come from one host.
  EXPECT_EQ(
      Check({{"worker 0", "10.0.0.1:4000", "127.0.0.1:50000"},
             {"worker 1", "[::1]:4001", "127.0.0.1:50001"}}),
      "worker 1 listens on [::1]:4001, which only its own host reaches, but worker 0 listens "
      "on 10.0.0.1:4000; fix: start worker 1 with --interface=NAME, an address or a CIDR that "
      "the other hosts reach");
}

TEST(ReachabilityTest, RefusesAddressesThatNobodyCanConnectTo) {
  for (const char* address : {"0.0.0.0:1", "[::]:1", "224.0.0.1:1", "169.254.1.1:1", "[fe80::1]:1",
                              "[ff02::1]:1", "255.255.255.255:1"}) {
    const absl::Status status = CheckAdvertised({"worker 0", address, "10.0.0.1:50000"});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << address;
  }
  EXPECT_EQ(CheckAdvertised({"worker 0", "0.0.0.0:1", "10.0.0.1:50000"}).message(),
            "worker 0 at 10.0.0.1:50000 listens on 0.0.0.0:1, which its peers cannot connect to; "
            "fix: start it with --interface= and the name, the address or the CIDR of a network "
            "that they reach");
  for (const char* address : {"127.0.0.1:1", "10.0.0.1:1", "[fd00::1]:1", "node4:1"}) {
    EXPECT_TRUE(CheckAdvertised({"worker 0", address, "10.0.0.1:50000"}).ok()) << address;
  }
}

}  // namespace
}  // namespace crossover::net
