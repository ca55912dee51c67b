#include "ps/part_versions.h"

#include <gtest/gtest.h>

namespace crossover::ps {
namespace {

void Answer(PartVersions& versions, int part, int64_t version, bool late) {
  versions.CountReply(part, version, late);
  versions.Set(part, version);
}

TEST(PartVersions, RepliesTellHowManyOthersUpdatedMeanwhile) {
  PartVersions versions(2);
  versions.Set(0, 5);
  versions.Set(1, 5);
  versions.BeginStep();
  Answer(versions, 0, 6, /*late=*/false);  // its own update alone
  EXPECT_EQ(versions.counts().staleness_max, 0);
  EXPECT_EQ(versions.oldest(), 5);
  Answer(versions, 1, 9, /*late=*/false);  // and three of others
  EXPECT_EQ(versions.counts().staleness_max, 3);
  EXPECT_EQ(versions.oldest(), 6);
  Answer(versions, 0, 10, /*late=*/true);  // four, and its own not
  EXPECT_EQ(versions.counts().staleness_max, 4);
  EXPECT_EQ(versions.counts().late_pushes, 1);
  EXPECT_EQ(versions.Of(0), 10);
}

TEST(PartVersions, CountsStepsThatBeginWithDifferentVersions) {
  PartVersions versions(3);
  versions.BeginStep();
  EXPECT_EQ(versions.counts().mixed_version_steps, 0);
  versions.Set(2, 1);
  versions.BeginStep();
  EXPECT_EQ(versions.counts().mixed_version_steps, 1);
  versions.Set(0, 1);
  versions.Set(1, 1);
  versions.BeginStep();
  EXPECT_EQ(versions.counts().mixed_version_steps, 1);
}

}  // namespace
}  // namespace crossover::ps
