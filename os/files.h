// Whole files, read and written with errors that name them. Blocking.
#ifndef CROSSOVER_OS_FILES_H_
#define CROSSOVER_OS_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace crossover::os {

// Of settings (a job, a layer profile, a fit, a list of hosts): what is larger is another file.
inline constexpr int64_t kSettingsBytesMax = int64_t{1} << 20;
// Of what programs write (50,000 results, say), and of programs.
inline constexpr int64_t kFileBytesMax = int64_t{1} << 30;

// A regular file of at most so many bytes; what is larger is refused, and so is a pipe or a
// device, which could block or never end.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t bytes_max = kFileBytesMax);

// Replaces the file in one step (a reader sees the old or the new one whole) and
// reports a full disk. `mode` is its permission bits. A device or a pipe is written to as it is.
absl::Status WriteFile(const std::string& path, std::string_view text, int mode = 0644);

// What would keep WriteFile from making the file, found without writing: for what is
// written at the end of a long run.
absl::Status CheckWritable(const std::string& path);

// Adds a line at the end and makes sure that it is on the disk.
absl::Status AppendLine(const std::string& path, std::string_view line);

// With parents; exists already: OK.
absl::Status MakeDirectory(const std::string& path);

// A program of the build tree that this one lies in, by its path there ("ps/server"):
// whether it exists is not looked at.
std::string SiblingBinary(const std::string& relative);

}  // namespace crossover::os

#endif  // CROSSOVER_OS_FILES_H_
