#include "experiments/resume_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "os/files.h"

namespace crossover::experiments {
namespace {

std::string RecordPath(const std::string& directory) { return directory + "/comparison.json"; }

// "" where the file is not there.
absl::StatusOr<std::string> ReadIfThere(const std::string& path) {
  absl::StatusOr<std::string> text = os::ReadFile(path);
  if (absl::IsNotFound(text.status())) return std::string();
  return text;
}

}  // namespace

absl::StatusOr<FolderLock> FolderLock::Take(const std::string& directory) {
  const std::string path = RecordPath(directory);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  FolderLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock ", path));
  return absl::FailedPreconditionError(
      absl::StrCat(directory, ": another compare is at work on this folder; wait for its end"));
}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) close(fd_);
}

absl::Status WriteRecord(const std::string& directory, const ComparisonRecord& record) {
  return os::WriteFile(RecordPath(directory), PrintRecord(record));
}

absl::StatusOr<ComparisonRecord> ReadRecord(const std::string& directory) {
  const absl::StatusOr<std::string> text = os::ReadFile(RecordPath(directory));
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(
        absl::StrCat(directory, ": no comparison began here: there is no comparison.json"));
  }
  RETURN_IF_ERROR(text.status());
  absl::StatusOr<ComparisonRecord> record = ParseRecord(*text);
  RETURN_IF_ERROR(Annotate(record.status(), directory + "/"));
  return record;
}

absl::StatusOr<FolderState> ReadFolder(const std::string& directory,
                                       const std::vector<PlannedRun>& runs,
                                       const std::vector<PlannedTrial>& trials) {
  ASSIGN_OR_RETURN(const std::string results, ReadIfThere(directory + "/results.jsonl"));
  ASSIGN_OR_RETURN(const std::string tuning, ReadIfThere(directory + "/tuning.jsonl"));
  absl::StatusOr<FolderState> state = ReadFolderState(results, tuning, runs, trials);
  RETURN_IF_ERROR(Annotate(state.status(), directory + "/"));
  return state;
}

absl::Status TidyFolder(const std::string& directory, const FolderState& state) {
  if (state.removed.empty()) return absl::OkStatus();
  std::string removed = state.removed;
  removed.pop_back();  // AppendLine brings its own newline
  RETURN_IF_ERROR(os::AppendLine(directory + "/replaced.jsonl", removed));
  RETURN_IF_ERROR(os::WriteFile(directory + "/results.jsonl", state.results));
  if (!std::filesystem::exists(directory + "/tuning.jsonl")) return absl::OkStatus();
  return os::WriteFile(directory + "/tuning.jsonl", state.tuning);
}

absl::Status MoveAside(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return absl::OkStatus();
  std::string aside;
  for (int i = 1; aside.empty() || std::filesystem::exists(aside, error); ++i) {
    aside = absl::StrCat(path, ".old-", i);
  }
  if (rename(path.c_str(), aside.c_str()) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot rename ", path, " to ", aside));
}

absl::StatusOr<std::map<std::string, std::string>> FingerprintPrograms(
    const std::map<std::string, std::string>& paths) {
  std::map<std::string, std::string> fingerprints;
  for (const auto& [name, path] : paths) {
    ASSIGN_OR_RETURN(const std::string bytes, os::ReadFile(path));
    fingerprints[name] = FingerprintOf(bytes);
  }
  return fingerprints;
}

}  // namespace crossover::experiments
