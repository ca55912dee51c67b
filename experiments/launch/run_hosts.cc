#include "experiments/launch/run_hosts.h"

#include <utility>

#include "core/status.h"

namespace crossover::experiments {
namespace {

class LocalProcess : public StartedProcess {
 public:
  explicit LocalProcess(ChildProcess child) : child_(std::move(child)) {}
  int pid() const override { return child_.pid(); }
  std::optional<ExitStatus> Poll() override { return child_.Poll(); }
  void Signal(int signal) override { child_.Signal(signal); }

 private:
  ChildProcess child_;
};

}  // namespace

LocalHost::LocalHost(std::string worker_binary, std::string server_binary)
    : paths_{.directory = "",
             .worker_binary = std::move(worker_binary),
             .server_binary = std::move(server_binary)} {}

absl::Status LocalHost::Begin(const std::string& directory, const std::vector<std::string>&) {
  paths_.directory = directory;
  return absl::OkStatus();
}

RunPaths LocalHost::PathsAt(const Site&) const { return paths_; }

absl::StatusOr<std::unique_ptr<StartedProcess>> LocalHost::Start(const Site& site,
                                                                 const ChildOptions& options) {
  ChildOptions here = options;
  here.network_namespace = site.network_namespace;
  ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Start(here));
  return std::make_unique<LocalProcess>(std::move(child));
}

absl::Status LocalHost::Collect(const Site&, const std::string&) { return absl::OkStatus(); }

void LocalHost::End() {}

}  // namespace crossover::experiments
