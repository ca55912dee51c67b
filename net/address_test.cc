#include "net/address.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace crossover::net {
namespace {

TEST(AddressTest, ParsesAndFormats) {
  for (const char* text :
       {"localhost:0", "10.0.0.2:4000", "node-7.cluster:65535", "[::1]:80", "[fd00::2]:4000"}) {
    const absl::StatusOr<HostPort> parsed = ParseHostPort(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(FormatHostPort(*parsed), text);
  }
  EXPECT_EQ(ParseHostPort("[fd00::2]:4000")->host, "fd00::2");
  EXPECT_EQ(ParseHostPort("[fd00::2]:4000")->port, 4000);
}

TEST(AddressTest, RefusesWhatIsNoAddressQuotingIt) {
  for (const char* text : {"",
                           ":",
                           ":80",
                           "host",
                           "host:",
                           "host:x",
                           "host:-1",
                           "host:+1",
                           "host: 1",
                           "host:65536",
                           "host:99999999999999999999",
                           "::1:80",
                           "[::1]",
                           "[::1]80",
                           "[]:80",
                           "[host]:80",
                           "[10.0.0.1]:80",
                           "unix:/run/x",
                           "a b:1",
                           "dns:///host:1"}) {
    const absl::StatusOr<HostPort> parsed = ParseHostPort(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_TRUE(absl::StrContains(parsed.status().message(), text)) << parsed.status();
    EXPECT_TRUE(absl::StrContains(parsed.status().message(), "write host:port"));
  }
}

TEST(AddressTest, LoopbackByDefault) { EXPECT_EQ(LocalAddress("").value(), "127.0.0.1"); }

TEST(AddressTest, FindsThisHostsLoopbackByNameAndByAddress) {
  EXPECT_EQ(LocalAddress("lo").value(), "127.0.0.1");
  EXPECT_EQ(LocalAddress("127.0.0.1").value(), "127.0.0.1");
}

TEST(AddressTest, ListsWhatThereIs) {
  const absl::StatusOr<std::string> address = LocalAddress("nosuch0");
  EXPECT_EQ(address.status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(address.status().message(), "nosuch0")) << address.status();
  EXPECT_TRUE(absl::StrContains(address.status().message(), "lo 127.0.0.1")) << address.status();
}

class ChooseAddressTest : public testing::Test {
 protected:
  const std::vector<InterfaceAddress> available_ = {
      {"lo", "127.0.0.1"},  {"eth0", "169.254.3.4"}, {"eth0", "fd00::2"}, {"eth0", "fe80::1"},
      {"eth0", "10.0.0.2"}, {"eth0", "10.0.0.3"},    {"eth1", "fe80::2"}, {"eth1", "fd00::3"},
      {"eth2", "fe80::3"},  {"eth2", "169.254.3.5"},
  };
};

TEST_F(ChooseAddressTest, PrefersIpv4AndLeavesOutLinkLocal) {
  EXPECT_EQ(ChooseAddress("eth0", available_).value(), "10.0.0.2");
  EXPECT_EQ(ChooseAddress("eth1", available_).value(), "fd00::3");
  const absl::StatusOr<std::string> none = ChooseAddress("eth2", available_);
  EXPECT_TRUE(absl::StrContains(none.status().message(), "eth2 has only link-local addresses"))
      << none.status();
}

TEST_F(ChooseAddressTest, TakesAnAddressOfThisHostInAnySpelling) {
  EXPECT_EQ(ChooseAddress("10.0.0.3", available_).value(), "10.0.0.3");
  EXPECT_EQ(ChooseAddress("fd00:0:0::0003", available_).value(), "fd00::3");
  EXPECT_EQ(ChooseAddress("169.254.3.5", available_).value(), "169.254.3.5");
}

TEST_F(ChooseAddressTest, RefusesWildcardsAndStrangers) {
  for (const char* wildcard : {"0.0.0.0", "::"}) {
    const absl::StatusOr<std::string> chosen = ChooseAddress(wildcard, available_);
    EXPECT_EQ(chosen.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(chosen.status().message(), "wildcard")) << chosen.status();
    EXPECT_TRUE(absl::StrContains(chosen.status().message(), "eth0 10.0.0.2"));
  }
  EXPECT_EQ(ChooseAddress("10.9.9.9", available_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ChooseAddress("fe80::1", available_).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ChooseAddress("eth", available_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(ChooseAddress("eth0", {}).status().message(), "there is none"));
}

}  // namespace
}  // namespace crossover::net
