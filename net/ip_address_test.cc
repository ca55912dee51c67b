#include "net/ip_address.h"

#include "gtest/gtest.h"

namespace crossover::net {
namespace {

IpAddress Ip(const char* text) { return ParseIpAddress(text).value(); }

TEST(IpAddressTest, ParsesAndFormats) {
  for (const char* text : {"0.0.0.0", "10.0.0.2", "255.255.255.255", "::", "::1", "fd00::2"}) {
    EXPECT_EQ(FormatIpAddress(Ip(text)), text);
  }
  EXPECT_EQ(FormatIpAddress(Ip("fd00:0:0::0002")), "fd00::2");
  for (const char* text : {"", "10.0.0", "10.0.0.256", "10.0.0.1 ", "eth0", "[::1]", "fe80::1%eth0",
                           "::1/128", "10.0.0.1:80"}) {
    EXPECT_FALSE(ParseIpAddress(text).has_value()) << text;
  }
}

TEST(IpAddressTest, SeesIpv4InsideIpv6) {
  EXPECT_EQ(Ip("::ffff:127.0.0.1"), Ip("127.0.0.1"));
  EXPECT_FALSE(Ip("::ffff:10.0.0.2").ipv6);
  EXPECT_TRUE(Ip("::1").ipv6);
}

TEST(IpAddressTest, TellsKindsApartAtTheirEdges) {
  for (const char* text : {"127.0.0.0", "127.255.255.255", "::1"}) {
    EXPECT_TRUE(Ip(text).IsLoopback()) << text;
  }
  for (const char* text : {"126.255.255.255", "128.0.0.0", "::", "::2", "1::1"}) {
    EXPECT_FALSE(Ip(text).IsLoopback()) << text;
  }
  for (const char* text : {"169.254.0.0", "169.254.255.255", "fe80::", "febf:ffff::1"}) {
    EXPECT_TRUE(Ip(text).IsLinkLocal()) << text;
  }
  for (const char* text : {"169.253.255.255", "169.255.0.0", "fe7f::1", "fec0::1"}) {
    EXPECT_FALSE(Ip(text).IsLinkLocal()) << text;
  }
  for (const char* text : {"0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.255", "240.0.0.1",
                           "255.255.255.255", "::", "ff02::1"}) {
    EXPECT_TRUE(Ip(text).IsUnroutable()) << text;
  }
  for (const char* text : {"1.0.0.0", "223.255.255.255", "10.0.0.1", "fd00::1", "2001:db8::1"}) {
    EXPECT_FALSE(Ip(text).IsUnroutable()) << text;
  }
}

TEST(IpPrefixTest, ContainsWhatSharesItsBits) {
  const IpPrefix ten = MakePrefix(Ip("10.1.2.3"), 8);
  EXPECT_EQ(FormatPrefix(ten), "10.0.0.0/8");
  EXPECT_TRUE(ten.Contains(Ip("10.255.255.255")));
  EXPECT_FALSE(ten.Contains(Ip("11.0.0.0")));
  const IpPrefix odd = MakePrefix(Ip("192.168.77.128"), 25);
  EXPECT_TRUE(odd.Contains(Ip("192.168.77.200")));
  EXPECT_FALSE(odd.Contains(Ip("192.168.77.127")));
  const IpPrefix all = MakePrefix(Ip("9.9.9.9"), 0);
  EXPECT_EQ(FormatPrefix(all), "0.0.0.0/0");
  EXPECT_TRUE(all.Contains(Ip("255.0.0.1")));
  EXPECT_FALSE(all.Contains(Ip("::1")));
  const IpPrefix one = MakePrefix(Ip("10.0.0.1"), 32);
  EXPECT_TRUE(one.Contains(Ip("10.0.0.1")));
  EXPECT_FALSE(one.Contains(Ip("10.0.0.0")));
  const IpPrefix unique = MakePrefix(Ip("fd12:3456::9"), 20);
  EXPECT_EQ(FormatPrefix(unique), "fd12:3000::/20");
  EXPECT_TRUE(unique.Contains(Ip("fd12:3fff::1")));
  EXPECT_FALSE(unique.Contains(Ip("fd12:4000::1")));
  EXPECT_TRUE(MakePrefix(Ip("::1"), 128).Contains(Ip("::1")));
}

}  // namespace
}  // namespace crossover::net
