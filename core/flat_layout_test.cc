#include "core/flat_layout.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using ::testing::ElementsAre;

TEST(FlatLayoutTest, ParametersLieOneAfterAnotherWithoutGaps) {
  FlatLayout layout;
  EXPECT_EQ(AppendParameter(layout, "fc2.bias", {10}), 0);
  EXPECT_EQ(AppendParameter(layout, "fc2.weight", {10, 256}), 1);
  EXPECT_EQ(layout.length, 2570);
  EXPECT_EQ(layout.parameters[0].offset, 0);
  EXPECT_EQ(layout.parameters[0].length, 10);
  EXPECT_EQ(layout.parameters[1].offset, 10);
  EXPECT_EQ(layout.parameters[1].length, 2560);
  EXPECT_EQ(layout.parameters[1].name, "fc2.weight");
  EXPECT_THAT(layout.parameters[1].shape, ElementsAre(10, 256));
}

TEST(FlatLayoutTest, AScalarHasOneValueAndAnEmptyTensorNone) {
  FlatLayout layout;
  AppendParameter(layout, "scalar", {});
  AppendParameter(layout, "empty", {3, 0});
  AppendParameter(layout, "vector", {2});
  EXPECT_EQ(layout.parameters[0].length, 1);
  EXPECT_EQ(layout.parameters[1].length, 0);
  EXPECT_EQ(layout.parameters[1].offset, 1);
  EXPECT_EQ(layout.parameters[2].offset, 1);
  EXPECT_EQ(layout.length, 3);
}

TEST(FlatLayoutDeathTest, RefusesANegativeExtent) {
  FlatLayout layout;
  EXPECT_DEATH(AppendParameter(layout, "bad", {2, -1}), "extents are not negative");
}

}  // namespace
}  // namespace crossover
