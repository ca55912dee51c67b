#include "os/profile_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "os/files.h"

namespace crossover::os {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kText[] = "source: 'mine' batch: 8 layers { name: 'fc' gradient_bytes: 4 }";

class ProfileFileTest : public testing::Test {
 protected:
  ProfileFileTest() {
    for (const char* name : {"resnet50", "vgg16"}) {
      EXPECT_TRUE(WriteFile(directory_ + "/" + name + ".textproto", kText).ok());
    }
  }
  absl::StatusOr<proto::LayerProfile> Read(const std::string& name) {
    return ReadProfile(name, {directory_ + "/missing", directory_});
  }
  std::string Error(const std::string& name) { return std::string(Read(name).status().message()); }

  const std::string directory_ = testing::TempDir();
};

TEST_F(ProfileFileTest, AShippedNameIsFoundInTheFirstDirectoryThatHasIt) {
  const auto profile = Read("vgg16");
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->batch(), 8);
  EXPECT_EQ(profile->layers(0).name(), "fc");
}

TEST_F(ProfileFileTest, APathIsAFile) {
  EXPECT_TRUE(Read(directory_ + "/vgg16.textproto").ok());
  EXPECT_THAT(Error("no/such"),
              AllOf(StartsWith("emulated.profile is a file: "), HasSubstr("no/such")));
  EXPECT_THAT(Error("vgg16.textproto"), StartsWith("emulated.profile is a file: "));
}

TEST_F(ProfileFileTest, AnUnknownNameGetsTheListAndTheNearest) {
  EXPECT_EQ(Error("resnet5"),
            "emulated.profile is \"resnet5\"; allowed: resnet50, vgg16, or a file's path (with a "
            "/ or ending in .textproto); fix: --emulated.profile=resnet50");
}

TEST_F(ProfileFileTest, WithoutShippedProfilesItSaysWhereItLooked) {
  const std::string error(ReadProfile("resnet50", {"nowhere"}).status().message());
  EXPECT_THAT(error, HasSubstr("no profiles are shipped beside this program (nowhere)"));
}

TEST_F(ProfileFileTest, AMistakeInAFileHasItsLine) {
  const std::string path = directory_ + "/mine.textproto";
  ASSERT_TRUE(WriteFile(path, "source: 'x'\nlayer { }\n").ok());
  EXPECT_THAT(Error(path), AllOf(StartsWith(path + ":2:1: "), HasSubstr("did you mean")));
}

}  // namespace
}  // namespace crossover::os
