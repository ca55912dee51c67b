// Whole files, read and written with errors that name them. Blocking.
#ifndef CROSSOVER_OS_FILES_H_
#define CROSSOVER_OS_FILES_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace crossover::os {

absl::StatusOr<std::string> ReadFile(const std::string& path);

// Replaces the file in one step (a reader sees the old or the new one whole) and
// reports a full disk. `mode` is its permission bits. A device or a pipe is written to as it is.
absl::Status WriteFile(const std::string& path, std::string_view text, int mode = 0644);

// Adds a line at the end and makes sure that it is on the disk.
absl::Status AppendLine(const std::string& path, std::string_view line);

// With parents; exists already: OK.
absl::Status MakeDirectory(const std::string& path);

// A program of the build tree that this one lies in, by its path there ("ps/server"):
// whether it exists is not looked at.
std::string SiblingBinary(const std::string& relative);

}  // namespace crossover::os

#endif  // CROSSOVER_OS_FILES_H_
