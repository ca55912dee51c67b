#include "experiments/hosts/agent_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "os/files.h"

namespace crossover::experiments {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class AgentFiles : public testing::Test {
 protected:
  AgentFiles() {
    folder_ = absl::StrCat(testing::TempDir(), "/agent-",
                           testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  std::string folder_;
};

TEST_F(AgentFiles, PiecesMakeAFile) {
  const std::string path = folder_ + "/file";
  ASSERT_TRUE(PutPiece(path, 0, "hello ", 0600).ok());
  ASSERT_TRUE(PutPiece(path, 6, "world", 0600).ok());
  EXPECT_EQ(os::ReadFile(path).value(), "hello world");
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(GetPiece(path, 0, 5).value(), "hello");
  EXPECT_EQ(GetPiece(path, 6, 100).value(), "world");
  EXPECT_EQ(GetPiece(path, 11, 100).value(), "");
  ASSERT_TRUE(PutPiece(path, 0, "anew", 0600).ok());
  EXPECT_EQ(os::ReadFile(path).value(), "anew");
}

TEST_F(AgentFiles, RefusesPiecesOutOfOrderAndNamesWhatItCannotReach) {
  ASSERT_TRUE(PutPiece(folder_ + "/file", 0, "abc", 0600).ok());
  EXPECT_THAT(PutPiece(folder_ + "/file", 2, "x", 0600).message(), HasSubstr("end at 2"));
  EXPECT_THAT(PutPiece("/nowhere/file", 0, "x", 0600).message(), HasSubstr("/nowhere/file"));
  EXPECT_THAT(GetPiece("/nowhere/file", 0, 1).status().message(), HasSubstr("/nowhere/file"));
}

TEST_F(AgentFiles, LeftoversOfEndedAgentsGoAndThoseOfLivingOnesStay) {
  const std::string own = MakeRunFolder(folder_, 1).value();
  struct stat info {};
  ASSERT_EQ(stat(own.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_FALSE(MakeRunFolder(folder_, 1).ok());
  // Its process id lives, but as a process that began at another time.
  std::string reused = own.substr(0, own.rfind('-'));
  reused = reused.substr(0, reused.rfind('-')) + "-1-1";
  const std::string foreign = folder_ + "/runs/otherhost-1-2-3";
  fs::create_directories(reused);
  fs::create_directories(foreign);
  ASSERT_TRUE(os::WriteFile(reused + "/token", "secret").ok());
  RemoveLeftoverRuns(folder_);
  EXPECT_TRUE(fs::exists(own));
  EXPECT_FALSE(fs::exists(reused));
  EXPECT_TRUE(fs::exists(foreign));
}

TEST_F(AgentFiles, TellsWhichLibrariesAreMissing) {
  EXPECT_EQ(MissingLibraries("/bin/sh").value(), "");
  EXPECT_THAT(MissingLibraries(folder_ + "/none").status().message(), HasSubstr("none"));
}

TEST_F(AgentFiles, KnowsTheFreeSpace) {
  EXPECT_GT(FreeBytes(folder_), 0);
  EXPECT_EQ(FreeBytes("/nowhere"), 0);
}

}  // namespace
}  // namespace crossover::experiments
