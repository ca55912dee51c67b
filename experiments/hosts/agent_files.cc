#include "experiments/hosts/agent_files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/status.h"
#include "experiments/launch/child_process.h"
#include "net/socket.h"
#include "os/host_identity.h"

namespace crossover::experiments {
namespace {

constexpr int kStartTimeField = 19;  // of /proc/PID/stat, counted after the name
constexpr int kLinkerTimeoutMs = 20'000;

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// In ticks since the boot, which with the id tells a process from a later one; "" if there
// is none.
std::string StartOfProcess(const std::string& pid) {
  const std::string stat = Contents(absl::StrCat("/proc/", pid, "/stat"));
  const size_t end_of_name = stat.rfind(')');
  if (end_of_name == std::string::npos) return "";
  const std::vector<std::string> fields =
      absl::StrSplit(stat.substr(end_of_name + 1), ' ', absl::SkipEmpty());
  return fields.size() > kStartTimeField ? fields[kStartTimeField] : "";
}

}  // namespace

absl::Status PutPiece(const std::string& path, int64_t offset, std::string_view bytes, int mode) {
  const int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (offset == 0 ? O_CREAT | O_TRUNC : 0);
  const net::UniqueFd file(open(path.c_str(), flags, mode));
  if (!file.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  if (lseek(file.get(), 0, SEEK_END) != offset) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": does not end at ", offset, ", where the next piece belongs"));
  }
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> GetPiece(const std::string& path, int64_t offset, int64_t size) {
  const net::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  std::string bytes(static_cast<size_t>(size), '\0');
  const ssize_t got = pread(file.get(), bytes.data(), bytes.size(), offset);
  if (got < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  bytes.resize(static_cast<size_t>(got));
  return bytes;
}

absl::StatusOr<std::string> MakeRunFolder(const std::string& folder, int number) {
  const std::string pid = absl::StrCat(getpid());
  const std::string path = absl::StrCat(folder, "/runs/", os::HostName(), "-", pid, "-",
                                        StartOfProcess(pid), "-", number);
  std::error_code error;
  std::filesystem::create_directories(folder + "/runs", error);
  if (mkdir(path.c_str(), 0700) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make the folder ", path));
  }
  return path;
}

absl::Status RemoveTree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot remove ", path));
}

void RemoveLeftoverRuns(const std::string& folder) {
  const std::string prefix = os::HostName() + "-";
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder + "/runs", error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const std::vector<std::string> parts = absl::StrSplit(name.substr(prefix.size()), '-');
    int pid = 0;
    if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &pid)) continue;
    if (StartOfProcess(parts[0]) != parts[1]) RemoveTree(entry->path().string()).IgnoreError();
  }
}

absl::StatusOr<std::string> MissingLibraries(const std::string& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
  const net::UniqueFd reading(ends[0]);
  net::UniqueFd writing(ends[1]);
  // The dynamic linker lists what it would load, and ends (ldd does no more).
  ASSIGN_OR_RETURN(ChildProcess linker,
                   ChildProcess::Start({.arguments = {program},
                                        .output_fd = writing.get(),
                                        .environment = {{"LD_TRACE_LOADED_OBJECTS", "1"}}}));
  writing.Reset();
  std::string text;
  char block[4096];
  pollfd waiting = {.fd = reading.get(), .events = POLLIN, .revents = 0};
  while (poll(&waiting, 1, kLinkerTimeoutMs) > 0) {
    const ssize_t got = read(reading.get(), block, sizeof block);
    if (got <= 0) break;
    text.append(block, static_cast<size_t>(got));
  }
  std::vector<std::string> missing;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.find("not found") == absl::string_view::npos) continue;
    missing.emplace_back(absl::StripAsciiWhitespace(line));
  }
  return absl::StrJoin(missing, "\n");
}

int64_t FreeBytes(const std::string& folder) {
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) return 0;
  return static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
}

}  // namespace crossover::experiments
