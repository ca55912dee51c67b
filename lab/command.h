// Runs other programs without a shell: iproute2's `ip` and `tc`, and the switch. Each is
// in a process group of its own, so that a Ctrl-C at the terminal reaches this program
// alone, which then takes down in order. Thread-safe.
#ifndef CROSSOVER_LAB_COMMAND_H_
#define CROSSOVER_LAB_COMMAND_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "os/unique_fd.h"

namespace crossover::lab {

// Starts the program with these three descriptors and no others; -1 means /dev/null. A name
// without a slash is looked for where Debian keeps system programs.
absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& arguments, int stdin_fd, int stdout_fd,
                            int stderr_fd);

// Waits until the child has ended; false if it has not after timeout_ms. Does not reap it.
bool WaitForEnd(pid_t pid, int timeout_ms);

// A file without a name, read and written from its beginning: a child's input or output.
absl::StatusOr<os::UniqueFd> MemoryFile(const std::string& text);
std::string TextOf(const os::UniqueFd& file);

// The program's standard output. Blocks until it has ended, at most 30 s (then it is
// killed). An exit code other than 0 is an error that holds the command and the last of
// what it wrote to standard error. `input` is its standard input.
absl::StatusOr<std::string> RunCommand(const std::vector<std::string>& arguments,
                                       const std::string& input = "");

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_COMMAND_H_
