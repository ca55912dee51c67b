#include "lab/probe_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover::lab {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pointwise;

TEST(ProbePlanTest, EqualNodesFormARing) {
  EXPECT_THAT(ProbeFlows({}), IsEmpty());
  EXPECT_THAT(ProbeFlows({1}), IsEmpty());
  EXPECT_THAT(ProbeFlows({1, 1}), ElementsAre(ProbeFlow{0, 1}, ProbeFlow{1, 0}));
  EXPECT_THAT(ProbeFlows({5, 5, 5}),
              ElementsAre(ProbeFlow{0, 1}, ProbeFlow{1, 2}, ProbeFlow{2, 0}));
  EXPECT_EQ(ProbeFlows({0, 0, 0, 0}).size(), 4);
}

TEST(ProbePlanTest, SlowerNodesMeetTheFastest) {
  EXPECT_THAT(ProbeFlows({1, 1, 10}),
              ElementsAre(ProbeFlow{0, 2}, ProbeFlow{1, 2}, ProbeFlow{2, 0}, ProbeFlow{2, 1}));
  // Not limited is the fastest.
  EXPECT_THAT(ProbeFlows({0, 7}), ElementsAre(ProbeFlow{0, 1}, ProbeFlow{1, 0}));
  EXPECT_EQ(ProbeFlows({0, 7, 7, 0}).size(), 8);
}

TEST(ProbePlanTest, MaxMinFillsTheTightestLinkFirst) {
  // 0 and 1 share 2's link of 3; then 0 has 8.5 left for 3.
  const std::vector<ProbeFlow> flows = {{0, 2}, {1, 2}, {0, 3}};
  EXPECT_THAT(MaxMinRates(flows, {10, 10, 3, 100}), Pointwise(DoubleNear(1e-9), {1.5, 1.5, 8.5}));
  EXPECT_THAT(MaxMinRates({{0, 1}}, {0, 0}), ElementsAre(0));
  EXPECT_THAT(MaxMinRates({}, {}), IsEmpty());
}

TEST(ProbePlanTest, FullLinksArePromised) {
  const auto ring = PromisedRates(ProbeFlows({5, 5, 5}), {5, 5, 5});
  for (const PromisedRate& node : ring) {
    EXPECT_DOUBLE_EQ(node.send, 5);
    EXPECT_DOUBLE_EQ(node.receive, 5);
  }
  // Workers are the narrow place: theirs are full, the server's (2 of 10) is not.
  const std::vector<double> wide_server = {1, 1, 10};
  const auto wide = PromisedRates(ProbeFlows(wide_server), wide_server);
  EXPECT_DOUBLE_EQ(wide[0].send, 1);
  EXPECT_DOUBLE_EQ(wide[1].receive, 1);
  EXPECT_DOUBLE_EQ(wide[2].send, 0);
  EXPECT_DOUBLE_EQ(wide[2].receive, 0);
  // The server is.
  const std::vector<double> narrow_server = {1, 1, 1, 1, 2};
  const auto narrow = PromisedRates(ProbeFlows(narrow_server), narrow_server);
  EXPECT_DOUBLE_EQ(narrow[0].send, 0);
  EXPECT_DOUBLE_EQ(narrow[4].send, 2);
  EXPECT_DOUBLE_EQ(narrow[4].receive, 2);
  EXPECT_DOUBLE_EQ(PromisedRates(ProbeFlows({0, 0}), {0, 0})[0].send, 0);
}

}  // namespace
}  // namespace crossover::lab
