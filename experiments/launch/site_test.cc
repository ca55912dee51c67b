#include "experiments/launch/site.h"

#include "gtest/gtest.h"

namespace crossover::experiments {
namespace {

std::vector<Site> Nodes(const std::string& stem, int count) {
  std::vector<Site> nodes;
  for (int i = 0; i < count; ++i) {
    nodes.push_back({stem + std::to_string(i), "10.77.0." + std::to_string(i + 1), "ns-" + stem});
  }
  return nodes;
}

TEST(SiteTest, OneMachineServesAnyRank) {
  const Sites sites = OneMachine("10.0.0.7");
  EXPECT_EQ(sites.Of(net::Role::kWorker, 63).address, "10.0.0.7");
  EXPECT_EQ(sites.Of(net::Role::kServer, 5).address, "10.0.0.7");
  EXPECT_EQ(sites.launcher.address, "10.0.0.7");
  EXPECT_EQ(NodesUsed(sites, 64, 6), 1);
}

TEST(SiteTest, DedicatedServersHaveNodesOfTheirOwn) {
  const Sites sites = PlaceOnNodes({"control", "10.77.0.9", "c"}, Nodes("worker", 4),
                                   Nodes("server", 2), proto::Comparison::dedicated);
  EXPECT_EQ(sites.Of(net::Role::kWorker, 3).node, "worker3");
  EXPECT_EQ(sites.Of(net::Role::kServer, 1).node, "server1");
  EXPECT_EQ(NodesUsed(sites, 4, 2), 6);
  EXPECT_EQ(NodesUsed(sites, 4, 0), 4);  // a ring leaves them out
  EXPECT_EQ(NodesUsed(sites, 1, 0), 1);
}

TEST(SiteTest, ColocatedServersShareTheWorkersNodes) {
  const Sites sites = PlaceOnNodes({"control", "10.77.0.9", "c"}, Nodes("worker", 2),
                                   Nodes("server", 3), proto::Comparison::colocated);
  EXPECT_EQ(sites.Of(net::Role::kServer, 0).node, "worker0");
  EXPECT_EQ(sites.Of(net::Role::kServer, 2).node, "worker0");
  EXPECT_EQ(NodesUsed(sites, 2, 3), 2);
}

}  // namespace
}  // namespace crossover::experiments
