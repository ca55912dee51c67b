#include "os/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "os/unique_fd.h"

namespace crossover::os {
namespace {

// Writes everything, flushes it to the disk and closes the descriptor.
absl::Status WriteAndClose(int fd, std::string_view text, const std::string& path) {
  absl::Status status;
  while (!text.empty() && status.ok()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      status = absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
    }
  }
  // A device or a pipe has no disk (EINVAL).
  if (status.ok() && fsync(fd) != 0 && errno != EINVAL) {
    status = absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  if (close(fd) != 0 && status.ok()) {
    status = absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  return status;
}

// A device or a pipe that is there: to be written to, since a rename would put a file in its place.
bool IsNoFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

const char* KindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a folder";
    case S_IFIFO:
      return "a pipe";
    default:
      return "a device or a socket";
  }
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t bytes_max) {
  const std::string cannot = absl::StrCat("cannot read ", path);
  // O_NONBLOCK: a pipe by this name must be refused, not waited for.
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info = {};
  if (!file.valid() || fstat(file.get(), &info) != 0) return absl::ErrnoToStatus(errno, cannot);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(cannot, ": it is ", KindOf(info.st_mode),
                     "; allowed: a regular file; fix: name one, with a copy of what this gives"));
  }
  std::string text;
  char block[65536];
  while (static_cast<int64_t>(text.size()) <= bytes_max) {
    const ssize_t got = read(file.get(), block, sizeof block);
    if (got == 0) return text;
    if (got > 0) {
      text.append(block, static_cast<size_t>(got));
    } else if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, cannot);
    }
  }
  return absl::FailedPreconditionError(
      absl::StrCat(cannot, ": it is larger than ", bytes_max,
                   " bytes, the most that such a file has; fix: name the file that is meant"));
}

absl::Status CheckWritable(const std::string& path) {
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  int error = 0;
  if (std::filesystem::is_directory(path, ignored)) {
    error = EISDIR;
  } else {
    const std::string written = IsNoFile(path)      ? path
                                : directory.empty() ? "."
                                                    : directory.string();
    if (access(written.c_str(), W_OK) != 0) error = errno;
  }
  if (error == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", path));
}

absl::Status WriteFile(const std::string& path, std::string_view text, int mode) {
  const bool in_place = IsNoFile(path);
  const std::string temporary = in_place ? path : path + ".new";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  absl::Status status = WriteAndClose(fd, text, path);
  if (in_place) return status;
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

absl::Status AppendLine(const std::string& path, std::string_view line) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  return WriteAndClose(fd, std::string(line) + "\n", path);
}

absl::Status MakeDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make the folder ", path));
  }
  return absl::OkStatus();
}

std::string SiblingBinary(const std::string& relative) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path().parent_path() / relative).string();
}

}  // namespace crossover::os
