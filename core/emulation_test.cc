#include "core/emulation.h"

#include <gtest/gtest.h>

namespace crossover {
namespace {

void AddLayer(proto::Emulated& emulated, const char* name, double forward_ms, double backward_ms,
              int64_t gradient_bytes) {
  proto::Layer& layer = *emulated.add_layers();
  layer.set_name(name);
  layer.set_forward_ms(forward_ms);
  layer.set_backward_ms(backward_ms);
  layer.set_gradient_bytes(gradient_bytes);
}

TEST(EmulationTest, UnscaledLayersAreTheProfiles) {
  proto::Emulated emulated;
  AddLayer(emulated, "conv", 1.5, 3, 40);
  const auto layers = ScaledLayers(emulated);
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_EQ(layers[0].name, "conv");
  EXPECT_EQ(layers[0].forward_ns, 1'500'000);
  EXPECT_EQ(layers[0].backward_ns, 3'000'000);
  EXPECT_EQ(layers[0].values, 10);
}

TEST(EmulationTest, TimesFollowScaleAndSpeed) {
  proto::Emulated emulated;
  AddLayer(emulated, "conv", 1, 2, 4);
  emulated.set_time_scale(10);
  emulated.set_compute_speed(4);
  const auto layers = ScaledLayers(emulated);
  EXPECT_EQ(layers[0].forward_ns, 2'500'000);
  EXPECT_EQ(layers[0].backward_ns, 5'000'000);
}

TEST(EmulationTest, ValuesAreRoundedUpToAtLeastOne) {
  proto::Emulated emulated;
  AddLayer(emulated, "none", 0, 0, 0);
  AddLayer(emulated, "one value", 0, 0, 4);
  AddLayer(emulated, "exact", 0, 0, 4 * 64);
  AddLayer(emulated, "one more", 0, 0, 4 * 64 + 4);
  emulated.set_bytes_scale(64);
  const auto layers = ScaledLayers(emulated);
  EXPECT_EQ(layers[0].values, 0);
  EXPECT_EQ(layers[1].values, 1);
  EXPECT_EQ(layers[2].values, 1);
  EXPECT_EQ(layers[3].values, 2);
}

TEST(EmulationTest, TheLayoutHasTheLastLayerFirstAndNoEmptyOnes) {
  proto::Emulated emulated;
  AddLayer(emulated, "first", 1, 1, 8);
  AddLayer(emulated, "pool", 1, 1, 0);
  AddLayer(emulated, "last", 1, 1, 12);
  const FlatLayout layout = EmulatedLayout(ScaledLayers(emulated));
  ASSERT_EQ(layout.parameters.size(), 2u);
  EXPECT_EQ(layout.parameters[0].name, "last");
  EXPECT_EQ(layout.parameters[1].name, "first");
  EXPECT_EQ(layout.parameters[1].offset, 3);
  EXPECT_EQ(layout.length, 5);
}

TEST(EmulationTest, BucketsShrinkWithTheGradients) {
  proto::Job job;
  job.mutable_emulated()->set_bytes_scale(64);
  EXPECT_EQ(ScaledBucketSizes(job).bytes, 26214400);  // not emulated
  job.set_model(proto::Model::emulated);
  EXPECT_EQ(ScaledBucketSizes(job).first_bytes, 16384);
  EXPECT_EQ(ScaledBucketSizes(job).bytes, 409600);
  job.mutable_buckets()->set_first_bytes(1);
  EXPECT_EQ(ScaledBucketSizes(job).first_bytes, 1);
}

TEST(EmulationTest, OnlyTheEmulatedModelIsEmulated) {
  proto::Job job;
  EXPECT_FALSE(IsEmulated(job));
  job.set_model(proto::Model::emulated);
  EXPECT_TRUE(IsEmulated(job));
}

}  // namespace
}  // namespace crossover
