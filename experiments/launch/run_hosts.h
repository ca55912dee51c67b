// Where the processes of a run are started: on the launcher's machine, or on hosts that it
// reaches by ssh (hosts/remote_hosts.h). Belongs to the launcher's main thread.
#ifndef CROSSOVER_EXPERIMENTS_LAUNCH_RUN_HOSTS_H_
#define CROSSOVER_EXPERIMENTS_LAUNCH_RUN_HOSTS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/launch/child_process.h"
#include "experiments/launch/site.h"

namespace crossover::experiments {

// A process, wherever it runs. Destruction kills it.
class StartedProcess {
 public:
  virtual ~StartedProcess() = default;
  virtual int pid() const = 0;  // on its host
  // How it ended, or nothing while it runs. Does not block.
  virtual std::optional<ExitStatus> Poll() = 0;
  virtual void Signal(int signal) = 0;
};

// Where a process finds the run's files, and the programs, on its host.
struct RunPaths {
  std::string directory;
  std::string worker_binary;
  std::string server_binary;
};

class RunHosts {
 public:
  virtual ~RunHosts() = default;
  // Before the first Start: makes `files`, names in the launcher's `directory`, readable for
  // their owner on every host.
  virtual absl::Status Begin(const std::string& directory,
                             const std::vector<std::string>& files) = 0;
  virtual RunPaths PathsAt(const Site& site) const = 0;
  // options.log_path is the launcher's, and is written while the process runs.
  virtual absl::StatusOr<std::unique_ptr<StartedProcess>> Start(const Site& site,
                                                                const ChildOptions& options) = 0;
  // Brings a file that a process wrote into its directory to the one given to Begin.
  virtual absl::Status Collect(const Site& site, const std::string& name) = 0;
  // Ends what still runs and removes the run's files from other hosts; in every end of a run.
  virtual void End() = 0;
};

// This machine. `worker_binary` and `server_binary` are paths of the programs.
class LocalHost : public RunHosts {
 public:
  LocalHost(std::string worker_binary, std::string server_binary);
  absl::Status Begin(const std::string& directory, const std::vector<std::string>& files) override;
  RunPaths PathsAt(const Site& site) const override;
  absl::StatusOr<std::unique_ptr<StartedProcess>> Start(const Site& site,
                                                        const ChildOptions& options) override;
  absl::Status Collect(const Site& site, const std::string& name) override;
  void End() override;

 private:
  RunPaths paths_;
};

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_LAUNCH_RUN_HOSTS_H_
