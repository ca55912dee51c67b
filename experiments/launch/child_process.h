// A process that the launcher started: in a process group of its own (a Ctrl-C at
// the terminal reaches the launcher alone), its output in a log file, and killed
// by the kernel should the launcher die.
#ifndef CROSSOVER_EXPERIMENTS_LAUNCH_CHILD_PROCESS_H_
#define CROSSOVER_EXPERIMENTS_LAUNCH_CHILD_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace crossover::experiments {

struct ChildOptions {
  std::vector<std::string> arguments;  // the binary's path first
  std::string log_path = {};           // standard output and error; made anew
  // Borrowed; -1: none. Standard input (else /dev/null), and standard output in place of the
  // log, which then takes standard error, or, where it is "", goes the same way.
  int input_fd = -1;
  int output_fd = -1;
  std::string network_namespace = {};  // of the network lab, in which it runs; "" is ours
  // Set in the child on top of the launcher's own environment.
  std::vector<std::pair<std::string, std::string>> environment = {};
};

// How a process ended.
struct ExitStatus {
  int code = 0;    // meaningful if signal == 0
  int signal = 0;  // that killed it, or 0
  // Of a process on another host: why its end is not known ("" if it is).
  std::string unknown = {};
  bool ok() const { return code == 0 && signal == 0 && unknown.empty(); }
  std::string Describe() const;  // "exited with code 1", "was killed by signal 9 (Killed)"
};

// Movable. Belongs to the launcher's main thread: the kernel ties "killed should
// the parent die" to the thread that started the child. Destruction kills
// the process if it still runs, and reaps it.
class ChildProcess {
 public:
  static absl::StatusOr<ChildProcess> Start(const ChildOptions& options);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  pid_t pid() const { return pid_; }
  // How it ended, or nothing while it runs. Does not block.
  std::optional<ExitStatus> Poll();
  // Nothing happens to a process that has ended.
  void Signal(int signal);

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  static absl::StatusOr<ChildProcess> StartHere(const ChildOptions& options);

  pid_t pid_ = -1;  // -1: moved from
  std::optional<ExitStatus> ended_;
};

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_LAUNCH_CHILD_PROCESS_H_
