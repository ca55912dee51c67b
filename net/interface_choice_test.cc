#include "net/interface_choice.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace crossover::net {
namespace {

HostInterface Interface(const char* name, std::vector<const char*> addresses) {
  HostInterface interface;
  interface.name = name;
  for (const char* text : addresses) {
    const IpAddress address = ParseIpAddress(text).value();
    interface.addresses.push_back({address, address.ipv6 ? 64 : 24});
  }
  return interface;
}

class InterfaceChoiceTest : public testing::Test {
 protected:
  InterfaceChoiceTest() {
    Add(Interface("lo", {"127.0.0.1", "::1"})).loopback = true;
    Add(Interface("docker0", {"172.17.0.1"})).running = false;
    Add(Interface("eth1", {"fe80::1", "fd00:1::2", "10.1.0.2"}));
    Add(Interface("eth0", {"10.0.0.2", "10.0.0.3", "fd00::2"})).default_route = true;
    Add(Interface("eth2", {"169.254.3.4", "fe80::3"}));
    Add(Interface("eth3", {"10.3.0.2"})).up = false;
    Add(Interface("eth4", {}));
  }
  HostInterface& Add(HostInterface interface) { return host_.emplace_back(std::move(interface)); }
  // "10.0.0.1 (eth0): why", or the error.
  std::string Choose(std::string_view selection) const {
    const absl::StatusOr<AddressChoice> choice = ChooseAddress(selection, host_);
    return choice.ok() ? DescribeChoice(*choice) : choice.status().ToString();
  }
  void ExpectError(std::string_view selection, absl::StatusCode code,
                   const std::string& part) const {
    const absl::Status status = ChooseAddress(selection, host_).status();
    EXPECT_EQ(status.code(), code) << selection << ": " << status;
    EXPECT_TRUE(absl::StrContains(status.message(), part)) << selection << ": " << status;
  }

  static constexpr auto kNotFound = absl::StatusCode::kNotFound;
  static constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  std::vector<HostInterface> host_;
};

TEST_F(InterfaceChoiceTest, UnsetIsLoopback) {
  EXPECT_EQ(Choose(""), "127.0.0.1 (loopback): no --interface was given");
}

TEST_F(InterfaceChoiceTest, TakesAName) {
  EXPECT_EQ(Choose("docker0"),
            "172.17.0.1 (docker0): the only address of docker0 that peers can use");
  EXPECT_EQ(Choose("eth1"),
            "10.1.0.2 (eth1): the first of 2 addresses of eth1 that peers can use, before "
            "fd00:1::2 (eth1) since it is IPv4");
  EXPECT_EQ(Choose("eth0"),
            "10.0.0.2 (eth0): the first of 3 addresses of eth0 that peers can use, before "
            "10.0.0.3 (eth0) since it comes first in the kernel's list");
  EXPECT_EQ(ChooseAddress("lo", host_)->address, "127.0.0.1");
}

TEST_F(InterfaceChoiceTest, TakesAnAddressInAnySpelling) {
  EXPECT_EQ(Choose("10.0.0.3"), "10.0.0.3 (eth0): the address asked for");
  EXPECT_EQ(Choose("fd00:0:0::0002"), "fd00::2 (eth0): the address asked for");
  EXPECT_EQ(Choose("127.0.0.1"), "127.0.0.1 (lo): the address asked for");
  EXPECT_EQ(Choose("::1"), "::1 (lo): the address asked for");
}

TEST_F(InterfaceChoiceTest, TakesACidr) {
  EXPECT_EQ(Choose("10.1.0.0/16"), "10.1.0.2 (eth1): the only address in 10.1.0.0/16");
  EXPECT_EQ(Choose("10.1.77.3/16"), "10.1.0.2 (eth1): the only address in 10.1.0.0/16");
  EXPECT_EQ(Choose("fd00:1::/32"), "fd00:1::2 (eth1): the only address in fd00:1::/32");
  EXPECT_EQ(Choose("10.0.0.3/32"), "10.0.0.3 (eth0): the only address in 10.0.0.3/32");
  EXPECT_EQ(Choose("127.0.0.0/8"), "127.0.0.1 (lo): the only address in 127.0.0.0/8");
  // Of eth1's and eth0's.
  EXPECT_EQ(
      Choose("10.0.0.0/8"),
      "10.0.0.2 (eth0): the first of 3 addresses in 10.0.0.0/8, before 10.0.0.3 (eth0) since it "
      "comes first in the kernel's list");
}

TEST_F(InterfaceChoiceTest, AWideCidrNamesNoLoopback) {
  EXPECT_EQ(ChooseAddress("0.0.0.0/0", host_)->address, "10.0.0.2");
  EXPECT_EQ(ChooseAddress("::/0", host_)->address, "fd00::2");
  host_.resize(1);
  ExpectError("0.0.0.0/0", kNotFound, "of this host only loopback lies in 0.0.0.0/0");
}

TEST_F(InterfaceChoiceTest, OfAListTheFirstThatThisHostHas) {
  EXPECT_EQ(Choose("eth1,eth0"),
            "10.1.0.2 (eth1): the first of 2 addresses of eth1 that peers can use, before "
            "fd00:1::2 (eth1) since it is IPv4");
  EXPECT_EQ(Choose("ib0,192.168.0.0/16,10.1.0.0/16"),
            "10.1.0.2 (eth1): the only address in 10.1.0.0/16 (ib0 is no interface of this host, "
            "no address of this host lies in 192.168.0.0/16)");
  ExpectError("ib0,eth3", kNotFound, "ib0 is no interface of this host, eth3 is down; found: lo");
}

TEST_F(InterfaceChoiceTest, AllButThese) {
  EXPECT_EQ(
      Choose("^docker0,lo,eth0"),
      "10.1.0.2 (eth1): the first of 2 addresses left by ^docker0,lo,eth0, before fd00:1::2 (eth1) "
      "since it is IPv4");
  EXPECT_EQ(Choose("^docker0,eth0,fd00::/8"),
            "10.1.0.2 (eth1): the only address left by ^docker0,eth0,fd00::/8");
  EXPECT_EQ(Choose("^docker0,ib0,eth0,fd00::/8"),
            "10.1.0.2 (eth1): the only address left by ^docker0,ib0,eth0,fd00::/8 "
            "(not on this host: ib0)");
  EXPECT_EQ(ChooseAddress("^10.0.0.2", host_)->address, "10.0.0.3");
  // Loopback has to be named, whether it is excluded or not.
  ExpectError("^docker0,eth0,eth1", kNotFound,
              "^docker0,eth0,eth1 leaves no address that peers can use; found: lo 127.0.0.1/24");
  ExpectError("^docker0,eth0,eth1", kNotFound, "fix: --interface=eth0");
}

// Each rule of the order decides where those before it tie.
TEST_F(InterfaceChoiceTest, PrefersByAStatedRule) {
  host_ = {host_[0], Interface("b0", {"10.5.0.1"}), Interface("a0", {"10.5.0.2"})};
  EXPECT_EQ(
      Choose("^lo"),
      "10.5.0.1 (b0): the first of 2 addresses left by ^lo, before 10.5.0.2 (a0) since it comes "
      "first in the kernel's list");
  host_[1].point_to_point = true;
  EXPECT_EQ(
      Choose("^lo"),
      "10.5.0.2 (a0): the first of 2 addresses left by ^lo, before 10.5.0.1 (b0) since a0 is no "
      "tunnel");
  host_[1].default_route = true;
  EXPECT_EQ(Choose("^lo"),
            "10.5.0.1 (b0): the first of 2 addresses left by ^lo, before 10.5.0.2 (a0) since the "
            "default route leaves by b0");
  host_[1].addresses[0].address = ParseIpAddress("fd05::1").value();
  EXPECT_EQ(
      Choose("^lo"),
      "10.5.0.2 (a0): the first of 2 addresses left by ^lo, before fd05::1 (b0) since it is IPv4");
  host_[2].running = false;
  EXPECT_EQ(
      Choose("^lo"),
      "fd05::1 (b0): the first of 2 addresses left by ^lo, before 10.5.0.2 (a0) since b0 has a "
      "carrier");
}

TEST_F(InterfaceChoiceTest, SaysWhatIsWrongAndTheFix) {
  const std::string found =
      "; found: lo 127.0.0.1/24 ::1/64, docker0 172.17.0.1/24, eth1 fe80::1/64 fd00:1::2/64 "
      "10.1.0.2/24, eth0 10.0.0.2/24 10.0.0.3/24 fd00::2/64, eth2 169.254.3.4/24 fe80::3/64, "
      "eth3 10.3.0.2/24 (down), eth4; fix: ";
  ExpectError("eth", kNotFound, "eth is no interface of this host" + found + "--interface=eth0");
  ExpectError("eth2", kNotFound,
              "eth2 has only link-local addresses, which peers cannot use" + found +
                  "ip addr add ADDRESS/BITS dev eth2, or --interface=eth0");
  ExpectError("eth3", kNotFound,
              "eth3 is down" + found + "ip link set eth3 up, or --interface=eth0");
  ExpectError("10.3.0.2", kNotFound, "10.3.0.2 is an address of eth3, which is down");
  ExpectError("10.3.0.0/24", kNotFound, "10.3.0.0/24 is an address of eth3, which is down");
  ExpectError("eth4", kNotFound, "eth4 has no address");
  ExpectError("10.9.9.9", kNotFound, "10.9.9.9 is no address of this host");
  ExpectError("10.9.0.0/16", kNotFound, "no address of this host lies in 10.9.0.0/16");
  ExpectError("169.254.0.0/16", kNotFound, "169.254.0.0/16 has only link-local addresses");
  ExpectError("fe80::/10", kNotFound, "fe80::/10 has only link-local addresses");
}

TEST_F(InterfaceChoiceTest, RefusesAddressesThatNoPeerCanUse) {
  ExpectError("0.0.0.0", kInvalid, "0.0.0.0 is the wildcard, which peers cannot connect to; found");
  ExpectError("::", kInvalid, ":: is the wildcard");
  ExpectError("224.0.0.1", kInvalid, "224.0.0.1 is a multicast address");
  ExpectError("ff02::1", kInvalid, "ff02::1 is a multicast address");
  ExpectError("255.255.255.255", kInvalid, "is a reserved address");
  ExpectError("169.254.3.4", kInvalid, "169.254.3.4 is a link-local address");
  ExpectError("fe80::1", kInvalid, "fe80::1 is a link-local address");
  ExpectError("eth0,0.0.0.0", kInvalid, "fix: --interface=eth0");
}

TEST_F(InterfaceChoiceTest, RefusesBadSyntaxWithWhatIsAllowed) {
  for (const char* selection : {",",
                                "eth0,",
                                "^",
                                "^,lo",
                                "^^lo",
                                "eth0,^lo",
                                "eth 0",
                                "10.0.0",
                                "10.0.0.256",
                                "10.0.0.0/33",
                                "10.0.0.0/-1",
                                "10.0.0.0/",
                                "10.0.0.0/8/8",
                                "/8",
                                "eth0/8",
                                "fd00::/129",
                                "fe80::1%eth0",
                                "1:2:3",
                                "a-name-of-16-byte",
                                "eth0\n"}) {
    ExpectError(selection, kInvalid, "; allowed: a name (eth0), an address (10.0.0.1), a CIDR");
  }
  ExpectError("10.0.0.0/33", kInvalid, "'10.0.0.0/33' has no prefix length of 0 to 32 after its /");
  ExpectError("fd00::/129", kInvalid, "of 0 to 128");
}

TEST_F(InterfaceChoiceTest, AHostWithoutAnythingUsableIsToldHowToMendIt) {
  host_.resize(1);
  ExpectError("eth0", kNotFound,
              "fix: give an interface a routable address (ip addr add ADDRESS/BITS dev NAME), or "
              "for a job of this host alone leave --interface out (loopback)");
  host_.clear();
  ExpectError("^lo", kNotFound, "found: no interface");
  EXPECT_EQ(ChooseAddress("", host_)->address, "127.0.0.1");
}

TEST_F(InterfaceChoiceTest, ListsABoundedNumberOfInterfaces) {
  host_.assign(40, Interface("veth", {}));
  ExpectError("eth0", kNotFound, "veth, 24 more; fix:");
}

}  // namespace
}  // namespace crossover::net
