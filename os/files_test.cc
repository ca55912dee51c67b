#include "os/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"

namespace crossover::os {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string Path(const std::string& name) { return testing::TempDir() + "/" + name; }

TEST(Files, ReadsBackWhatItWrote) {
  const std::string text(200000, 'x');
  ASSERT_TRUE(WriteFile(Path("big"), text).ok());
  auto read = ReadFile(Path("big"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, text);
}

TEST(Files, OnlyRegularFilesAreRead) {
  const std::string pipe = Path("pipe");
  unlink(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ReadFile(pipe).status().message(),
            absl::StrCat("cannot read ", pipe,
                         ": it is a pipe; allowed: a regular file; fix: name one, with a copy of "
                         "what this gives"));
  const auto error = [](const std::string& path) {
    return std::string(ReadFile(path).status().message());
  };
  EXPECT_THAT(error("/dev/zero"), StartsWith("cannot read /dev/zero: it is a device"));
  EXPECT_THAT(error(testing::TempDir()), HasSubstr("it is a folder"));
}

TEST(Files, ALargerFileIsNotRead) {
  const std::string large = Path("large");
  ASSERT_TRUE(WriteFile(large, std::string(100000, 'x')).ok());
  EXPECT_TRUE(ReadFile(large, 100000).ok());
  EXPECT_EQ(ReadFile(large, 99999).status().message(),
            absl::StrCat("cannot read ", large,
                         ": it is larger than 99999 bytes, the most that such a file has; fix: "
                         "name the file that is meant"));
  // A file of /proc says that it has none.
  EXPECT_FALSE(ReadFile("/proc/self/status", 10).ok());
  EXPECT_TRUE(ReadFile("/proc/self/status").ok());
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

TEST(Files, WritesToADeviceInItsPlace) {
  const std::string null = Path("null");
  std::filesystem::remove(null);
  std::filesystem::create_symlink("/dev/null", null);
  EXPECT_TRUE(CheckWritable(null).ok());
  EXPECT_TRUE(WriteFile(null, "x").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(null));
  EXPECT_EQ(WriteFile("/dev/full", "x").message(),
            "cannot write /dev/full: No space left on device");
}

TEST(Files, TellsBeforehandWhatCannotBeWritten) {
  EXPECT_TRUE(CheckWritable(Path("not-yet")).ok());
  EXPECT_FALSE(ReadFile(Path("not-yet")).ok());
  EXPECT_TRUE(CheckWritable("in-the-working-directory").ok());
  EXPECT_EQ(CheckWritable("/nowhere/file").message(),
            "cannot write /nowhere/file: No such file or directory");
  EXPECT_EQ(CheckWritable(testing::TempDir()).message(),
            absl::StrCat("cannot write ", testing::TempDir(), ": Is a directory"));
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
