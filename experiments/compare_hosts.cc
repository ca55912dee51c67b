#include "experiments/compare_hosts.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/emulation.h"
#include "core/job.h"
#include "core/status.h"
#include "experiments/hosts/host_file.h"
#include "lab/network_spec.h"
#include "os/environment.h"
#include "os/files.h"
#include "worker/data/dataset.h"

namespace crossover::experiments {
namespace {

constexpr double kSilenceSMin = 20;

absl::Status CheckNoLab(const proto::Job& job) {
  if (!job.comparison().has_network()) return absl::OkStatus();
  const std::string& text = job.comparison().network();
  const absl::StatusOr<lab::NetworkSpec> spec = lab::ParseNetworkSpec(text);
  if (spec.ok() && !spec->shaped()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--hosts with comparison.network ", text,
      ": hosts have a network of their own, which is measured; fix: leave out one of the two"));
}

// Nobody can slow hosts' links as the lab slows its own: what a scaled job finds there, scaled
// back, would be of links so many times as fast.
absl::Status CheckNoScales(const proto::Job& job) {
  const proto::Emulated& emulated = job.emulated();
  for (const auto& [field, scale] : {std::pair("time_scale", emulated.time_scale()),
                                     std::pair("bytes_scale", emulated.bytes_scale())}) {
    if (scale == 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("emulated.", field, " is ", scale,
                     " with --hosts; allowed: 1, since no link of a host is slowed with it; fix: "
                     "--emulated.",
                     field, "=1, or --network=SPEC in place of --hosts"));
  }
  return absl::OkStatus();
}

absl::Status RefuseWithoutHosts(const Arguments& arguments) {
  const char* flag = !arguments.ssh_options.empty()          ? "--ssh-option"
                     : !arguments.remote_dir.empty()         ? "--remote-dir"
                     : !arguments.launcher_interface.empty() ? "--launcher-interface"
                     : arguments.remote_clean                ? "--remote-clean"
                                                             : nullptr;
  if (flag == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(flag, ": means nothing without --hosts=FILE"));
}

// Of all runs: how many processes of each role at most.
struct Processes {
  int workers = 0;
  int servers = 0;
};
Processes MostProcesses(const std::vector<PlannedRun>& runs) {
  Processes most;
  for (const PlannedRun& run : runs) {
    most.workers = std::max(most.workers, WorkerProcesses(run.job));
    if (UsesServers(run.job)) most.servers = std::max(most.servers, run.job.servers());
  }
  return most;
}

}  // namespace

absl::StatusOr<HostsChoice> ChooseHosts(const Arguments& arguments,
                                        const std::vector<PlannedRun>& runs) {
  HostsChoice choice;
  if (arguments.hosts.empty()) {
    RETURN_IF_ERROR(RefuseWithoutHosts(arguments));
    return choice;
  }
  const proto::Job& job = runs.front().job;
  RETURN_IF_ERROR(CheckNoLab(job));
  RETURN_IF_ERROR(CheckNoScales(job));
  const absl::StatusOr<std::string> text =
      os::ReadFile(os::ResolveUserPath(arguments.hosts), os::kSettingsBytesMax);
  RETURN_IF_ERROR(Annotate(text.status(), "--hosts: "));
  ASSIGN_OR_RETURN(choice.hosts, ParseHosts(*text, arguments.hosts));
  const Processes most = MostProcesses(runs);
  const absl::StatusOr<HostPlacement> placement =
      PlaceOnHosts(choice.hosts, most.workers, most.servers, job.comparison().placement());
  RETURN_IF_ERROR(Annotate(placement.status(), absl::StrCat("--hosts=", arguments.hosts, ": ")));
  choice.placement = *placement;
  return choice;
}

absl::StatusOr<std::unique_ptr<RemoteHosts>> SetUpHosts(const Arguments& arguments,
                                                        const HostsChoice& choice,
                                                        const Clock& clock,
                                                        ProgressPrinter& progress,
                                                        ComparisonOptions& options) {
  if (choice.hosts.empty()) return nullptr;
  const proto::Job& job = options.runs.front().job;
  RemoteOptions remote;
  remote.hosts = choice.hosts;
  remote.placement = choice.placement;
  remote.ssh_options = arguments.ssh_options;
  remote.folder = arguments.remote_dir;
  remote.clean = arguments.remote_clean;
  remote.interface = arguments.interface;
  remote.launcher_interface = arguments.launcher_interface;
  remote.agent_binary = os::SiblingBinary("experiments/hosts/agent");
  remote.worker_binary = options.worker_binary;
  remote.server_binary = options.server_binary;
  if (!IsEmulated(job)) {
    ASSIGN_OR_RETURN(remote.data_files, worker::DataFiles(job.data()));
  }
  remote.silence_s = std::max(kSilenceSMin, 2 * job.deadlines().loss_s());
  remote.say = [&progress](const std::string& line) { progress.Say(line); };
  absl::StatusOr<std::unique_ptr<RemoteHosts>> hosts = RemoteHosts::Connect(remote, clock);
  RETURN_IF_ERROR(Annotate(hosts.status(), absl::StrCat("--hosts=", arguments.hosts, ": ")));
  progress.Say(absl::StrCat("hosts of ", arguments.hosts, ":\n", HostsText((*hosts)->report())));
  for (const std::string& warning : ClockWarnings((*hosts)->report())) progress.Say(warning);
  options.hosts = hosts->get();
  options.sites = (*hosts)->sites();
  options.network = NetworkOfHosts((*hosts)->report());
  options.environment.cores = 0;  // that the processes may use together: the hosts' now
  for (const HostFacts& host : (*hosts)->report().hosts) options.environment.cores += host.cores;
  if (MostProcesses(options.runs).servers > 0) {
    options.network.placement = proto::Comparison::Placement_Name(choice.placement.placement);
  }
  return hosts;
}

}  // namespace crossover::experiments
