#include "net/address.h"

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

}  // namespace
}  // namespace crossover::net
