// Every shipped profile is read, has its architecture's parameters and its source's time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/emulation.h"
#include "core/job.h"
#include "os/profile_file.h"
#include "proto/job.pb.h"

namespace crossover {
namespace {

struct Shipped {
  std::string name;
  int64_t parameters;
  int64_t batch;
  double step_ms;
  std::string source_names;
};

const std::vector<Shipped>& All() {
  static const std::vector<Shipped> all = {
      {"resnet50", 25'557'032, 256, 256 / 938.0 * 1000, "A100"},
      {"vgg16", 138'357'544, 64, 64 / 154.0 * 1000, "P100"},
      // With the heads of pre-training.
      {"bert_large", 336'226'108, 32, 32 / 40.32 * 1000, "V100"},
      // 3.10 GB of gradient: ten times the 312 MB that one can read of.
      {"gpt2_780m", 774'030'080, 8, 1092, "V100"},
  };
  return all;
}

proto::LayerProfile Read(const std::string& name) {
  const auto profile = os::ReadProfile(name, {"experiments/profiles"});
  EXPECT_TRUE(profile.ok()) << profile.status();
  return profile.ok() ? *profile : proto::LayerProfile();
}

TEST(ProfilesTest, ParametersAreTheArchitectures) {
  for (const Shipped& shipped : All()) {
    const proto::LayerProfile profile = Read(shipped.name);
    int64_t bytes = 0;
    for (const proto::Layer& layer : profile.layers()) bytes += layer.gradient_bytes();
    EXPECT_EQ(bytes, 4 * shipped.parameters) << shipped.name;
  }
}

TEST(ProfilesTest, TimesAddUpToTheSourcesStep) {
  for (const Shipped& shipped : All()) {
    const proto::LayerProfile profile = Read(shipped.name);
    double forward_ms = 0, backward_ms = 0;
    for (const proto::Layer& layer : profile.layers()) {
      forward_ms += layer.forward_ms();
      backward_ms += layer.backward_ms();
    }
    EXPECT_NEAR(forward_ms + backward_ms, shipped.step_ms, shipped.step_ms * 1e-3) << shipped.name;
    EXPECT_NEAR(backward_ms, 2 * forward_ms, shipped.step_ms * 1e-3) << shipped.name;
    EXPECT_EQ(profile.batch(), shipped.batch) << shipped.name;
  }
}

TEST(ProfilesTest, TheSourceNamesTheAccelerator) {
  for (const Shipped& shipped : All()) {
    EXPECT_THAT(Read(shipped.name).source(), testing::HasSubstr(shipped.source_names));
  }
}

TEST(ProfilesTest, NoProfileIsShippedWithoutACheck) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("experiments/profiles")) {
    files += entry.path().extension() == ".textproto" ? 1 : 0;
  }
  EXPECT_EQ(files, All().size());
}

TEST(ProfilesTest, EveryProfileMakesAValidJob) {
  for (const Shipped& shipped : All()) {
    proto::Job job;
    job.set_model(proto::Model::emulated);
    job.set_steps(30);
    job.set_epochs(0);
    *job.mutable_emulated()->mutable_layers() = Read(shipped.name).layers();
    EXPECT_EQ(ValidateJob(job), absl::OkStatus()) << shipped.name;
    EXPECT_EQ(EmulatedLayout(ScaledLayers(job.emulated())).length, shipped.parameters);
  }
}

}  // namespace
}  // namespace crossover
