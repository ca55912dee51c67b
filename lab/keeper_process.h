// The keeper (//lab:keeper) of a process's labs, as its child: it removes their namespaces
// should the process be killed. Not thread-safe.
#ifndef CROSSOVER_LAB_KEEPER_PROCESS_H_
#define CROSSOVER_LAB_KEEPER_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "os/unique_fd.h"

namespace crossover::lab {

class KeeperProcess {
 public:
  static absl::StatusOr<std::unique_ptr<KeeperProcess>> Start(const std::string& binary);
  // Ends it: by now the lab has been taken down.
  ~KeeperProcess();
  KeeperProcess(const KeeperProcess&) = delete;
  KeeperProcess& operator=(const KeeperProcess&) = delete;

 private:
  KeeperProcess(pid_t pid, os::UniqueFd life) : pid_(pid), life_(std::move(life)) {}

  const pid_t pid_;
  const os::UniqueFd life_;  // closes with this process, whatever its end
};

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_KEEPER_PROCESS_H_
