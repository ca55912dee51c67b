// The agent's work on files of its host: pieces of files, programs kept for later runs, and the
// folders of runs. Blocking; errors name the path.
//
// FOLDER/programs/NAME-HASH       kept until `clean`
// FOLDER/runs/HOST-PID-START-N/   of the agent with that process id and start; 0700
#ifndef CROSSOVER_EXPERIMENTS_HOSTS_AGENT_FILES_H_
#define CROSSOVER_EXPERIMENTS_HOSTS_AGENT_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace crossover::experiments {

// Offset 0 makes the file anew with these permission bits; a further piece goes to the end,
// which must be at `offset`.
absl::Status PutPiece(const std::string& path, int64_t offset, std::string_view bytes, int mode);
// Fewer than `size` bytes at the file's end.
absl::StatusOr<std::string> GetPiece(const std::string& path, int64_t offset, int64_t size);

// A new folder for a run of this process.
absl::StatusOr<std::string> MakeRunFolder(const std::string& folder, int number);
absl::Status RemoveTree(const std::string& path);
// Folders of this host's agents that have ended (they were killed): a token may lie there.
// Another host's are left alone, since a home may be shared.
void RemoveLeftoverRuns(const std::string& folder);

// Lines of the dynamic linker about what the program needs and this host lacks; "" if it
// can be loaded.
absl::StatusOr<std::string> MissingLibraries(const std::string& program);

int64_t FreeBytes(const std::string& folder);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HOSTS_AGENT_FILES_H_
