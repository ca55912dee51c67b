#include "bench/comm/hosts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "experiments/hosts/host_file.h"
#include "experiments/hosts/host_report.h"
#include "os/environment.h"
#include "os/files.h"

namespace crossover::bench {
namespace {

constexpr double kSilenceSMin = 20;

}  // namespace

absl::StatusOr<TestHosts> ConnectHosts(const Arguments& arguments, const std::string& binary,
                                       const std::function<void(const std::string&)>& say,
                                       const Clock& clock) {
  const std::string flag = absl::StrCat("--hosts=", arguments.hosts, ": ");
  experiments::RemoteOptions remote;
  const absl::StatusOr<std::string> text =
      os::ReadFile(os::ResolveUserPath(arguments.hosts), os::kSettingsBytesMax);
  RETURN_IF_ERROR(Annotate(text.status(), "--hosts: "));
  ASSIGN_OR_RETURN(remote.hosts, experiments::ParseHosts(*text, arguments.hosts));
  TestHosts test;
  test.ranks = static_cast<int>(arguments.local_ranks);
  for (const experiments::HostSpec& host : remote.hosts) {
    if (arguments.local_ranks == 0 && host.role != experiments::HostRole::kServer) {
      test.ranks += host.slots;
    }
  }
  if (test.ranks == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, "no host for ranks; allowed: role=worker or any; fix: leave out role"));
  }
  const absl::StatusOr<experiments::HostPlacement> placement =
      experiments::PlaceOnHosts(remote.hosts, test.ranks, 0, proto::Comparison::colocated);
  RETURN_IF_ERROR(Annotate(placement.status(), flag));
  remote.placement = *placement;
  remote.ssh_options = arguments.ssh_options;
  remote.folder = arguments.remote_dir;
  remote.interface = arguments.member.interface;
  remote.launcher_interface = arguments.launcher_interface;
  remote.agent_binary = os::SiblingBinary("experiments/hosts/agent");
  remote.worker_binary = binary;
  remote.server_binary = binary;
  remote.silence_s = std::max(kSilenceSMin, arguments.plan.deadline_s);
  remote.say = say;
  absl::StatusOr<std::unique_ptr<experiments::RemoteHosts>> hosts =
      experiments::RemoteHosts::Connect(remote, clock);
  RETURN_IF_ERROR(Annotate(hosts.status(), flag));
  say(absl::StrCat("hosts of ", arguments.hosts, ":\n",
                   experiments::HostsText((*hosts)->report())));
  test.hosts = *std::move(hosts);
  return test;
}

}  // namespace crossover::bench
