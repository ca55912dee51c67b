#include "net/roster.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace crossover::net {
namespace {

void Add(proto::Member* member, proto::Role role, int rank, const char* address) {
  member->set_role(role);
  member->set_rank(rank);
  member->set_data_address(address);
}

TEST(RosterTest, ReadsMembersByRank) {
  proto::Roster message;
  Add(message.add_workers(), proto::WORKER, 0, "10.0.0.1:4000");
  Add(message.add_workers(), proto::WORKER, 1, "");
  Add(message.add_servers(), proto::SERVER, 0, "[fd00::2]:4001");
  const Roster roster = ReadRoster(message).value();
  ASSERT_EQ(roster.workers.size(), 2u);
  EXPECT_EQ(roster.workers[0].data_address, "10.0.0.1:4000");
  EXPECT_EQ(roster.workers[1].rank, 1);
  ASSERT_EQ(roster.servers.size(), 1u);
  EXPECT_EQ(roster.servers[0].data_address, "[fd00::2]:4001");
}

TEST(RosterTest, EmptyIsARosterWithoutMembers) {
  EXPECT_TRUE(ReadRoster(proto::Roster()).value().workers.empty());
}

TEST(RosterTest, RefusesWhatMakesNoSense) {
  proto::Roster wrong_rank;
  Add(wrong_rank.add_workers(), proto::WORKER, 0, "");
  Add(wrong_rank.add_workers(), proto::WORKER, 2, "");
  EXPECT_TRUE(absl::StrContains(ReadRoster(wrong_rank).status().message(), "worker 1"));

  proto::Roster wrong_role;
  Add(wrong_role.add_servers(), proto::WORKER, 0, "");
  EXPECT_TRUE(absl::StrContains(ReadRoster(wrong_role).status().message(), "server 0"));

  proto::Roster wrong_address;
  Add(wrong_address.add_workers(), proto::WORKER, 0, "10.0.0.1");
  EXPECT_TRUE(absl::StrContains(ReadRoster(wrong_address).status().message(),
                                "worker 0: address '10.0.0.1'"));
}

}  // namespace
}  // namespace crossover::net
