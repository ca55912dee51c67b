#include "lab/keeper_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "lab/command.h"

namespace crossover::lab {

absl::StatusOr<std::unique_ptr<KeeperProcess>> KeeperProcess::Start(const std::string& binary) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
  const os::UniqueFd read_end(ends[0]);
  os::UniqueFd write_end(ends[1]);
  ASSIGN_OR_RETURN(const pid_t pid,
                   Spawn({binary, absl::StrCat("--owner=", getpid())}, read_end.get(), -1, -1));
  return std::unique_ptr<KeeperProcess>(new KeeperProcess(pid, std::move(write_end)));
}

KeeperProcess::~KeeperProcess() {
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace crossover::lab
