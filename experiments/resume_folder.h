// The files by which a comparison that was interrupted goes on: reads and writes what
// resume.h decides on. Blocking.
#ifndef CROSSOVER_EXPERIMENTS_RESUME_FOLDER_H_
#define CROSSOVER_EXPERIMENTS_RESUME_FOLDER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/resume.h"

namespace crossover::experiments {

// Keeps a second compare binary off the folder for as long as it lives, and however its
// process ends. Children do not inherit it.
class FolderLock {
 public:
  // DIRECTORY/comparison.json exists. Refused (FailedPrecondition) while another holds it.
  static absl::StatusOr<FolderLock> Take(const std::string& directory);
  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept;
  ~FolderLock();

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

// DIRECTORY/comparison.json, before the first run.
absl::Status WriteRecord(const std::string& directory, const ComparisonRecord& record);
// NotFound names what the folder lacks.
absl::StatusOr<ComparisonRecord> ReadRecord(const std::string& directory);

// What results.jsonl and tuning.jsonl hold; either may be missing.
absl::StatusOr<FolderState> ReadFolder(const std::string& directory,
                                       const std::vector<PlannedRun>& runs,
                                       const std::vector<PlannedTrial>& trials);
// Takes the lines that do not stay out of both, having written them to replaced.jsonl first. A
// reader, or a crash, finds the old file or the new one, never part of one.
absl::Status TidyFolder(const std::string& directory, const FolderState& state);

// Renames what is left of an earlier try, PATH to PATH.old-1 (-2, ...); nothing there: OK.
absl::Status MoveAside(const std::string& path);

// Fingerprints of program files, by name.
absl::StatusOr<std::map<std::string, std::string>> FingerprintPrograms(
    const std::map<std::string, std::string>& paths);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESUME_FOLDER_H_
