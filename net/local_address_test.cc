#include "net/local_address.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace crossover::net {
namespace {

TEST(LocalAddressTest, FindsThisHostsLoopback) {
  const absl::StatusOr<std::vector<HostInterface>> interfaces = InterfacesOfThisHost();
  ASSERT_TRUE(interfaces.ok()) << interfaces.status();
  const auto lo = std::find_if(interfaces->begin(), interfaces->end(),
                               [](const HostInterface& i) { return i.name == "lo"; });
  ASSERT_NE(lo, interfaces->end());
  EXPECT_TRUE(lo->up);
  EXPECT_TRUE(lo->loopback);
  EXPECT_FALSE(lo->point_to_point);
  EXPECT_FALSE(lo->default_route);
  ASSERT_FALSE(lo->addresses.empty());
  EXPECT_EQ(FormatIpAddress(lo->addresses[0].address), "127.0.0.1");
  EXPECT_EQ(lo->addresses[0].prefix_bits, 8);
}

TEST(LocalAddressTest, MeansThisHost) {
  EXPECT_EQ(LocalAddress("")->address, "127.0.0.1");
  EXPECT_EQ(LocalAddress("lo")->address, "127.0.0.1");
  EXPECT_EQ(LocalAddress("127.0.0.0/8")->interface, "lo");
  const absl::Status unknown = LocalAddress("nosuch0").status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(unknown.message(), "found: lo 127.0.0.1/8")) << unknown;
}

TEST(DefaultRouteTest, ReadsTheKernelsTables) {
  constexpr char kIpv4[] =
      "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
      "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
      "eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
      "tun0\t00000000\t010200C0\t0003\t0\t0\t0\t00000080\t0\t0\t0\n";  // 0.0.0.0/1
  constexpr char kIpv6[] =
      "fd000000000000000000000000000000 40 00000000000000000000000000000000 00 "
      "00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth1\n"
      "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
      "fd000000000000000000000000000001 00000400 00000001 00000000 00000003 eth2\n"
      "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
      "00000000000000000000000000000000 ffffffff 00000001 00000000 00200200 lo\n"
      "nonsense\n";
  EXPECT_EQ(DefaultRouteInterfaces(kIpv4, kIpv6), (std::set<std::string>{"eth0", "eth2"}));
  EXPECT_TRUE(DefaultRouteInterfaces("", "").empty());
}

}  // namespace
}  // namespace crossover::net
