#include "core/layer_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace crossover {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string Error(const std::string& text) {
  return std::string(ParseProfile(text, "mine.textproto").status().message());
}

TEST(LayerProfileTest, ReadsLayersInOrder) {
  const auto profile = ParseProfile(
      "source: 'a paper'\nbatch: 32\n"
      "layers { name: 'a' forward_ms: 1.5 backward_ms: 3 gradient_bytes: 8 }\n"
      "layers { name: 'b' }\n",
      "mine.textproto");
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->batch(), 32);
  ASSERT_EQ(profile->layers_size(), 2);
  EXPECT_EQ(profile->layers(0).gradient_bytes(), 8);
  EXPECT_EQ(profile->layers(1).name(), "b");
}

TEST(LayerProfileTest, AMistypedFieldIsNamedWithItsLineAndTheNearest) {
  EXPECT_THAT(Error("source: 'x'\nlayers { name: 'a' foward_ms: 1 }"),
              AllOf(StartsWith("mine.textproto:2:20: "), HasSubstr("no field \"foward_ms\""),
                    HasSubstr("did you mean \"forward_ms\"?"),
                    HasSubstr("allowed: name, forward_ms, backward_ms, gradient_bytes")));
  EXPECT_THAT(Error("workers: 4"), HasSubstr("allowed: source, batch, layers"));
}

TEST(LayerProfileTest, AWrongLayerIsRefusedWithItsLine) {
  EXPECT_THAT(Error("layers { name: 'a' gradient_bytes: 4 }\n"
                    "layers { name: 'b' backward_ms: -1 }"),
              AllOf(StartsWith("mine.textproto:2:1: layers[1] is \"b\", a layer of -1 ms"),
                    HasSubstr("allowed: 0 to 1e6 ms")));
  EXPECT_THAT(Error("layers { name: 'a' gradient_bytes: 6 }"),
              StartsWith("mine.textproto:1:1: layers[0] is \"a\", a layer of 6 gradient bytes; "
                         "allowed: a multiple of 4"));
  EXPECT_THAT(Error("layers { name: 'a' forward_ms: nan gradient_bytes: 4 }"),
              HasSubstr("a layer of nan ms"));
}

TEST(LayerProfileTest, AProfileThatSendsNothingIsRefused) {
  EXPECT_EQ(Error("source: 'x'"),
            "mine.textproto: no layers; allowed: at least one layers { ... }");
  EXPECT_THAT(Error("layers { forward_ms: 1 }"),
              StartsWith("mine.textproto:1:1: layers is a list without gradients"));
  EXPECT_THAT(Error("layers { gradient_bytes: 4 } batch: -1"),
              StartsWith("mine.textproto:1:30: batch is -1"));
}

}  // namespace
}  // namespace crossover
