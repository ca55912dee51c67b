// Who finds out that it shares a host with whom, and what comes of it.
#include "allreduce/host_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "allreduce/communicator.h"
#include "allreduce/shared_memory/group.h"
#include "allreduce/test_support.h"
#include "core/clock.h"
#include "core/status.h"
#include "net/inproc_endpoint.h"
#include "os/shared_memory.h"

namespace crossover::allreduce {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Extent = HostSharing::Extent;

// What a rank found out; its group is gone.
struct Found {
  absl::Status status;
  std::vector<int> host_of;
  Extent extent = Extent::kNone;
  std::vector<int> group;  // empty: none
  std::string reason;
};

// Each rank says that it is on `hosts[rank]`. `change`: what a rank does otherwise.
std::vector<Found> Share(
    const std::vector<std::optional<uint64_t>>& hosts,
    const std::function<absl::Status(net::Endpoint&, SharedMemoryGroup::Options&)>& change =
        [](auto&, auto&) { return absl::OkStatus(); }) {
  const SystemClock clock;
  const int ranks = static_cast<int>(hosts.size());
  std::vector<Found> all(hosts.size());
  Endpoints endpoints = net::MakeInprocEndpoints(ranks, clock);
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    SharedMemoryGroup::Options options;
    RETURN_IF_ERROR(change(endpoint, options));
    const os::SharedBufferRegistry registry;
    Communicator communicator(endpoint, TestOptions(Algorithm::kRing), clock);
    ASSIGN_OR_RETURN(const HostSharing sharing,
                     ShareHost(communicator, hosts[endpoint.rank()], options, registry, clock));
    Found& found = all[endpoint.rank()];
    found.host_of = sharing.host_of;
    found.extent = sharing.extent;
    if (sharing.group != nullptr) found.group = sharing.group->ranks();
    found.reason = sharing.reason;
    // The communicator goes on counting alike on all ranks.
    return communicator.Run({.kind = Kind::kBarrier, .name = "", .algorithm = {}});
  });
  for (int rank = 0; rank < ranks; ++rank) all[rank].status = statuses[rank];
  return all;
}

TEST(HostSharingTest, AllRanksOfOneHostShareMemory) {
  for (const Found& found : Share({42, 42, 42})) {
    ASSERT_TRUE(found.status.ok()) << found.status;
    EXPECT_THAT(found.host_of, ElementsAre(0, 0, 0));
    EXPECT_EQ(found.extent, Extent::kAllRanks);
    EXPECT_THAT(found.group, ElementsAre(0, 1, 2));
    EXPECT_EQ(found.reason, "all 3 ranks are on this host");
  }
}

TEST(HostSharingTest, RanksThatAreAloneShareNothing) {
  for (const Found& found : Share({7, 0, 9})) {
    ASSERT_TRUE(found.status.ok()) << found.status;
    EXPECT_THAT(found.host_of, ElementsAre(0, 1, 2));
    EXPECT_EQ(found.extent, Extent::kNone);
    EXPECT_THAT(found.group, IsEmpty());
    EXPECT_EQ(found.reason, "ranks are on 3 hosts");
  }
  const Found alone = Share({7})[0];
  EXPECT_THAT(alone.host_of, ElementsAre(0));
  EXPECT_EQ(alone.extent, Extent::kNone);
  EXPECT_EQ(alone.reason, "one rank");
}

TEST(HostSharingTest, WhoDoesNotKnowItsHostSharesItWithNobody) {
  // A host's number may be 0, too.
  const std::vector<Found> all = Share({0, std::nullopt, std::nullopt, 0});
  for (const Found& found : all) {
    ASSERT_TRUE(found.status.ok()) << found.status;
    EXPECT_THAT(found.host_of, ElementsAre(0, 1, 2, 0));
    EXPECT_EQ(found.extent, Extent::kWithinHosts);
  }
  EXPECT_THAT(all[0].group, ElementsAre(0, 3));
  EXPECT_THAT(all[1].group, IsEmpty());
}

TEST(HostSharingTest, EachOfSeveralHostsSharesMemoryOfItsOwn) {
  const std::vector<Found> all = Share({9, 3, 9, 5, 3, 9});
  const std::vector<int> groups[] = {{0, 2, 5}, {1, 4}, {}};
  for (int rank = 0; rank < 6; ++rank) {
    ASSERT_TRUE(all[rank].status.ok()) << all[rank].status;
    EXPECT_THAT(all[rank].host_of, ElementsAre(0, 1, 0, 2, 1, 0));
    EXPECT_EQ(all[rank].extent, Extent::kWithinHosts);
    EXPECT_EQ(all[rank].group, groups[all[rank].host_of[rank]]) << rank;
    EXPECT_EQ(all[rank].reason, "6 ranks are on 3 hosts");
  }
}

// Here: a rank that expects the memory to have another shape.
TEST(HostSharingTest, WhereOneRankCannotMapTheMemoryNobodyUsesIt) {
  for (const bool several : {false, true}) {
    const uint64_t other = several ? 2 : 1;
    const std::vector<Found> all =
        Share({1, 1, other, other}, [](net::Endpoint& endpoint, auto& options) {
          if (endpoint.rank() == 3) options.slot_bytes /= 2;
          return absl::OkStatus();
        });
    for (int rank = 0; rank < 4; ++rank) {
      ASSERT_TRUE(all[rank].status.ok()) << all[rank].status;
      EXPECT_EQ(all[rank].extent, Extent::kNone);
      EXPECT_THAT(all[rank].group, IsEmpty());
      EXPECT_THAT(all[rank].reason,
                  HasSubstr(rank == 3 ? "give all ranks the same" : "another rank"));
    }
    EXPECT_THAT(all[0].host_of, several ? ElementsAre(0, 0, 1, 1) : ElementsAre(0, 0, 0, 0));
  }
}

TEST(HostSharingTest, ARankThatGivesUpEndsAll) {
  const std::vector<Found> all = Share({1, 1, 2}, [](net::Endpoint& endpoint, auto&) {
    if (endpoint.rank() != 2) return absl::OkStatus();
    const absl::Status why = absl::InternalError("out of luck");
    endpoint.Abort(why);
    return why;
  });
  for (const Found& found : all) {
    EXPECT_THAT(std::string(found.status.message()), HasSubstr("out of luck"));
  }
}

}  // namespace
}  // namespace crossover::allreduce
