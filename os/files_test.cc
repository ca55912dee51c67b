#include "os/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace crossover::os {
namespace {

std::string Path(const std::string& name) { return testing::TempDir() + "/" + name; }

TEST(Files, ReadsBackWhatItWrote) {
  const std::string text(200000, 'x');
  ASSERT_TRUE(WriteFile(Path("big"), text).ok());
  auto read = ReadFile(Path("big"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, text);
}

TEST(Files, ReplacesAFileAndLeavesNoTemporary) {
  ASSERT_TRUE(WriteFile(Path("replaced"), "old and longer").ok());
  ASSERT_TRUE(WriteFile(Path("replaced"), "new").ok());
  EXPECT_EQ(*ReadFile(Path("replaced")), "new");
  EXPECT_FALSE(ReadFile(Path("replaced.new")).ok());
}

TEST(Files, SetsTheMode) {
  ASSERT_TRUE(WriteFile(Path("secret"), "token", 0600).ok());
  struct stat info;
  ASSERT_EQ(stat(Path("secret").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(Files, AppendsLines) {
  ASSERT_TRUE(WriteFile(Path("lines"), "one\n").ok());
  ASSERT_TRUE(AppendLine(Path("lines"), "two").ok());
  EXPECT_EQ(*ReadFile(Path("lines")), "one\ntwo\n");
}

TEST(Files, MakesFoldersWithParentsAndTwice) {
  EXPECT_TRUE(MakeDirectory(Path("a/b/c")).ok());
  EXPECT_TRUE(MakeDirectory(Path("a/b/c")).ok());
  EXPECT_TRUE(WriteFile(Path("a/b/c/file"), "x").ok());
}

TEST(Files, ErrorsNameTheFile) {
  EXPECT_EQ(ReadFile("/nowhere/file").status().message(),
            "cannot read /nowhere/file: No such file or directory");
  EXPECT_EQ(WriteFile("/nowhere/file", "x").message(),
            "cannot write /nowhere/file: No such file or directory");
  ASSERT_TRUE(WriteFile(Path("plain"), "x").ok());
  EXPECT_FALSE(MakeDirectory(Path("plain/below")).ok());
}

TEST(Files, AFullDiskIsAnError) {
  const absl::Status status = AppendLine("/dev/full", "x");
  EXPECT_EQ(status.message(), "cannot write /dev/full: No space left on device");
}

TEST(Files, ADeviceStaysOne) {
  const std::string device = Path("device");
  unlink(device.c_str());
  ASSERT_EQ(symlink("/dev/null", device.c_str()), 0);
  ASSERT_TRUE(WriteFile(device, "x").ok());
  struct stat info;
  ASSERT_EQ(lstat(device.c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
  ASSERT_EQ(stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  EXPECT_TRUE(AppendLine(device, "x").ok());
}

}  // namespace
}  // namespace crossover::os
