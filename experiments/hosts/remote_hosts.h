// Hosts that are reached by ssh, checked before anything trains, and the runs on them.
//
// Each host has one connection (host_connection.h); its end, whichever it is, ends what runs
// there. Belongs to the launcher's main thread.
#ifndef CROSSOVER_EXPERIMENTS_HOSTS_REMOTE_HOSTS_H_
#define CROSSOVER_EXPERIMENTS_HOSTS_REMOTE_HOSTS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "experiments/hosts/host_connection.h"
#include "experiments/hosts/host_file.h"
#include "experiments/hosts/host_report.h"
#include "experiments/launch/run_hosts.h"
#include "experiments/launch/site.h"

namespace crossover::experiments {

struct RemoteOptions {
  std::vector<HostSpec> hosts;
  HostPlacement placement;
  std::vector<std::string> ssh_options;  // "Name=value" each
  std::string folder;                    // on the hosts; "": ~/.cache/crossover
  bool clean = false;                    // remove the programs from the hosts at the end
  std::string interface;                 // of hosts that say nothing themselves, as --interface
  std::string launcher_interface;        // "": the address that the hosts see ssh come from
  std::string agent_binary;
  std::string worker_binary;
  std::string server_binary;
  std::vector<std::string> data_files;  // which each worker's host must have, the same bytes
  double silence_s = 30;                // of the launcher, after which a host ends everything
  std::function<void(const std::string&)> say;  // what is under way, a line each
};

class RemoteHosts : public RunHosts {
 public:
  // Connects and checks: reachable, kind of machine, free space, programs (copied where they
  // are missing) and the libraries they need, data, clocks, and every pair both ways. Blocks,
  // some seconds and half a second a pair. Errors name every host that is at fault and why.
  static absl::StatusOr<std::unique_ptr<RemoteHosts>> Connect(const RemoteOptions& options,
                                                              const Clock& clock);
  ~RemoteHosts() override;

  const Sites& sites() const { return sites_; }
  const HostsReport& report() const { return report_; }

  absl::Status Begin(const std::string& directory, const std::vector<std::string>& files) override;
  RunPaths PathsAt(const Site& site) const override;
  absl::StatusOr<std::unique_ptr<StartedProcess>> Start(const Site& site,
                                                        const ChildOptions& options) override;
  absl::Status Collect(const Site& site, const std::string& name) override;
  void End() override;

 private:
  struct Host {
    HostSpec spec;
    std::unique_ptr<HostConnection> connection;
    RunPaths paths;  // of the programs, and while a run goes on its directory
  };

  RemoteHosts(const RemoteOptions& options, const Clock& clock)
      : options_(options), clock_(clock) {}
  absl::Status ConnectAll();
  absl::Status ChooseAddresses();
  absl::StatusOr<std::string> AddressOf(Host& host, HostFacts& facts);
  absl::Status ChooseLauncherAddress();
  absl::Status CopyPrograms();
  absl::StatusOr<std::string> CopyProgram(Host& host, const std::string& name,
                                          const std::string& path);
  absl::Status CheckData();
  absl::Status MeasureClocks();
  absl::Status ProbePairs();
  absl::Status ProbeTogether(const std::vector<AgentMessage>& servers);
  void MakeSites();
  // Does it for each host; the errors of all as one.
  absl::Status ForEach(const std::function<absl::Status(Host&, HostFacts&)>& work);
  Host& HostAt(const Site& site) const;
  void Say(const std::string& line) const {
    if (options_.say) options_.say(line);
  }

  const RemoteOptions options_;
  const Clock& clock_;
  std::vector<std::unique_ptr<Host>> hosts_;  // those of the placement, in the file's order
  std::vector<int> host_of_spec_;             // index into hosts_, -1: not used
  HostsReport report_;                        // its hosts are hosts_'s
  Sites sites_;
  std::string directory_;  // the launcher's, of the run that goes on
};

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HOSTS_REMOTE_HOSTS_H_
