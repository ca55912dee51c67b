#include "experiments/hosts/host_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover::experiments {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Refusal(absl::string_view text) {
  return std::string(ParseHosts(text, "hosts").status().message());
}

TEST(HostFile, ReadsAddressesAndWhatIsSaidOfThem) {
  const auto hosts = ParseHosts(
      "# two racks\n"
      "10.0.0.1\n"
      "\n"
      "ps-1.lan\tslots=4 role=server user=ann port=2222 interface=10.0.0.0/8  # the big one\r\n",
      "hosts");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  ASSERT_EQ(hosts->size(), 2u);
  EXPECT_EQ((*hosts)[0].address, "10.0.0.1");
  EXPECT_EQ((*hosts)[0].slots, 1);
  EXPECT_EQ((*hosts)[0].role, HostRole::kAny);
  EXPECT_EQ((*hosts)[0].where, "hosts:2");
  EXPECT_EQ((*hosts)[1].address, "ps-1.lan");
  EXPECT_EQ((*hosts)[1].slots, 4);
  EXPECT_EQ((*hosts)[1].role, HostRole::kServer);
  EXPECT_EQ((*hosts)[1].user, "ann");
  EXPECT_EQ((*hosts)[1].port, 2222);
  EXPECT_EQ((*hosts)[1].interface, "10.0.0.0/8");
}

TEST(HostFile, RefusesAWrongLineWithItsPlaceWhatWasFoundAndWhatIsAllowed) {
  EXPECT_THAT(Refusal("a\nb slots=0\n"), HasSubstr("hosts:2: slots=0; allowed: a whole number"));
  EXPECT_THAT(Refusal("a slots=two"), HasSubstr("slots=two; allowed"));
  EXPECT_THAT(Refusal("a slots=1025"), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(Refusal("a port=65536"), HasSubstr("port=65536; allowed: a whole number from 1 to"));
  EXPECT_THAT(Refusal("a role=boss"), HasSubstr("role=boss; allowed: worker, server, any"));
  EXPECT_THAT(Refusal("a slot=2"), HasSubstr("hosts:1: \"slot=2\"; allowed after the address"));
  EXPECT_THAT(Refusal("a slots="), HasSubstr("\"slots=\"; allowed"));
  EXPECT_THAT(Refusal("a b"), HasSubstr("\"b\"; allowed after the address"));
  EXPECT_THAT(Refusal("a role=any role=any"), HasSubstr("role= is given twice"));
}

// An address is a word of ssh's command line: none may pass for an option.
TEST(HostFile, RefusesWhatIsNoAddress) {
  EXPECT_THAT(Refusal("-oProxyCommand=x"), HasSubstr("hosts:1: address"));
  EXPECT_THAT(Refusal("a;reboot"), HasSubstr("hosts:1: address \"a;reboot\""));
  EXPECT_THAT(Refusal("ann@a"), HasSubstr("user=NAME"));
  EXPECT_THAT(Refusal("a user=-l"), HasSubstr("user \"-l\""));
}

TEST(HostFile, RefusesAHostThatStandsTwice) {
  EXPECT_THAT(Refusal("a\nb\na slots=2"), HasSubstr("hosts:3: a is in hosts:1 already"));
  EXPECT_TRUE(ParseHosts("a port=1\na port=2", "hosts").ok());
}

TEST(HostFile, RefusesAFileWithoutHosts) {
  EXPECT_THAT(Refusal("# none\n"), HasSubstr("hosts: 0 hosts; allowed: 1 to 256"));
}

std::vector<HostSpec> Hosts(absl::string_view text) { return *ParseHosts(text, "hosts"); }

TEST(PlaceOnHosts, WorkersFillSlotsInOrderAndServersHaveHostsOfTheirOwn) {
  const auto placed = PlaceOnHosts(Hosts("s role=server slots=2\na slots=2\nb\nc"), 3, 3,
                                   proto::Comparison::dedicated);
  ASSERT_TRUE(placed.ok()) << placed.status();
  EXPECT_THAT(placed->workers, ElementsAre(1, 1, 2));
  EXPECT_THAT(placed->servers, ElementsAre(0, 0, 3));
}

TEST(PlaceOnHosts, ColocatedServersAreBesideWorkers) {
  const auto placed = PlaceOnHosts(Hosts("a\nb"), 2, 3, proto::Comparison::colocated);
  ASSERT_TRUE(placed.ok()) << placed.status();
  EXPECT_THAT(placed->servers, ElementsAre(0, 1, 0));
}

TEST(PlaceOnHosts, AHostGivenToServersIsUsedForThem) {
  const auto placed =
      PlaceOnHosts(Hosts("a\nb\ns role=server"), 2, 1, proto::Comparison::colocated);
  ASSERT_TRUE(placed.ok()) << placed.status();
  EXPECT_THAT(placed->servers, ElementsAre(2));
  EXPECT_EQ(placed->placement, proto::Comparison::dedicated);
}

TEST(PlaceOnHosts, NoServersNeedNoHost) {
  EXPECT_TRUE(PlaceOnHosts(Hosts("a"), 1, 0, proto::Comparison::dedicated).ok());
}

TEST(PlaceOnHosts, RefusesTooFewSlotsWithTheCounts) {
  const auto workers =
      PlaceOnHosts(Hosts("a slots=2\ns role=server slots=9"), 3, 1, proto::Comparison::dedicated);
  EXPECT_THAT(workers.status().message(), HasSubstr("3 workers need as many slots"));
  EXPECT_THAT(workers.status().message(), HasSubstr("have 2"));
  const auto servers = PlaceOnHosts(Hosts("a slots=9\nb"), 2, 2, proto::Comparison::dedicated);
  EXPECT_THAT(servers.status().message(), HasSubstr("2 servers need as many slots"));
  EXPECT_THAT(servers.status().message(), HasSubstr("there are 1"));
  EXPECT_THAT(servers.status().message(), HasSubstr("colocated"));
}

}  // namespace
}  // namespace crossover::experiments
