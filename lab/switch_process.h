// The user-space switch (//lab:switch) as a child of this process. It ends when the pipe
// to its standard input closes: with this object, or with this process however it ends.
// Not thread-safe.
#ifndef CROSSOVER_LAB_SWITCH_PROCESS_H_
#define CROSSOVER_LAB_SWITCH_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lab/switch_port.h"
#include "os/unique_fd.h"

namespace crossover::lab {

class SwitchProcess {
 public:
  // Blocks until the devices exist, at most 20 s.
  static absl::StatusOr<std::unique_ptr<SwitchProcess>> Start(const std::string& binary,
                                                              const std::vector<SwitchPort>& ports,
                                                              uint64_t loss_seed);
  // Asks it to end, kills it after 2 s, and reaps it.
  ~SwitchProcess();
  SwitchProcess(const SwitchProcess&) = delete;
  SwitchProcess& operator=(const SwitchProcess&) = delete;

  // One of its commands ("cut worker0", see lab/switch.h): what it answered after "ok".
  // Blocks at most 10 s.
  absl::StatusOr<std::string> Command(const std::string& line);
  pid_t pid() const { return pid_; }

 private:
  SwitchProcess(pid_t pid, os::UniqueFd to, os::UniqueFd from, os::UniqueFd errors);
  absl::StatusOr<std::string> ReadLine(int timeout_ms);
  std::string LastWords() const;

  pid_t pid_;
  os::UniqueFd to_;
  os::UniqueFd from_;
  os::UniqueFd errors_;
  std::string unread_;
};

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_SWITCH_PROCESS_H_
