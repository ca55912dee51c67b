#include "bench/comm/local_ranks.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/shared/member_run.h"
#include "core/status.h"
#include "net/address.h"
#include "net/identity.h"
#include "net/rendezvous_server.h"
#include "os/files.h"

namespace crossover::bench {
namespace {

constexpr char kRecordsName[] = "records.jsonl";  // in the directory, here and on other hosts

std::vector<std::string> Arguments(const LocalOptions& options, const experiments::RunPaths& there,
                                   int rank) {
  std::vector<std::string> arguments = {there.worker_binary, absl::StrCat("--rank=", rank),
                                        absl::StrCat("--world_size=", options.ranks),
                                        "--rendezvous_host=launcher"};
  for (const std::string& flag : FlagsOf(options.plan)) arguments.push_back(flag);
  if (rank == 0) {
    arguments.push_back(absl::StrCat("--json=", there.directory, "/", kRecordsName));
  }
  return arguments;
}

absl::Status RunProcesses(const LocalOptions& options, experiments::RunHosts& hosts,
                          MemberRun& run) {
  std::vector<int> pids;
  for (int rank = 0; rank < options.ranks; ++rank) {
    const experiments::Site& site = options.sites.Of(net::Role::kWorker, rank);
    ASSIGN_OR_RETURN(pids.emplace_back(), run.Add(absl::StrCat("rank ", rank), site,
                                                  Arguments(options, hosts.PathsAt(site), rank)));
  }
  if (options.on_started) options.on_started(pids);
  return run.Watch(options.time_s);
}

net::RendezvousServer::Options RendezvousOptions(const LocalOptions& options) {
  net::RendezvousServer::Options rendezvous;
  rendezvous.address = net::FormatHostPort({options.sites.launcher.address, 0});
  rendezvous.identity.job_fingerprint = FingerprintOf(options.ranks);
  rendezvous.workers = options.ranks;
  rendezvous.join_s = options.plan.deadline_s;
  rendezvous.loss_s = LossS(options.plan);
  return rendezvous;
}

}  // namespace

absl::StatusOr<std::vector<Record>> RunLocalRanks(const LocalOptions& options,
                                                  experiments::SignalWaiter& signals,
                                                  Clock& clock) {
  experiments::LocalHost this_machine(options.binary, options.binary);
  experiments::RunHosts& hosts = options.hosts == nullptr ? this_machine : *options.hosts;
  const std::string records_path = absl::StrCat(options.directory, "/", kRecordsName);
  unlink(records_path.c_str());
  ASSIGN_OR_RETURN(
      const std::unique_ptr<MemberRun> run,
      MemberRun::Start({RendezvousOptions(options), options.directory, &hosts}, signals, clock));
  RETURN_IF_ERROR(RunProcesses(options, hosts, *run));
  RETURN_IF_ERROR(hosts.Collect(options.sites.Of(net::Role::kWorker, 0), kRecordsName));
  ASSIGN_OR_RETURN(const std::string lines, os::ReadFile(records_path));
  return ReadRecords(lines);
}

}  // namespace crossover::bench
