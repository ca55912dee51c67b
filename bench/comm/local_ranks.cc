#include "bench/comm/local_ranks.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/comm/process_set.h"
#include "core/status.h"
#include "net/address.h"
#include "net/identity.h"
#include "net/rendezvous_server.h"
#include "os/files.h"

namespace crossover::bench {
namespace {

constexpr double kEndS = 2;  // for ranks to end by themselves, and again when asked
// In the directory, here and on other hosts.
constexpr char kTokenName[] = "token";
constexpr char kRecordsName[] = "records.jsonl";

absl::StatusOr<std::unique_ptr<experiments::StartedProcess>> StartRank(
    const LocalOptions& options, experiments::RunHosts& hosts, int rank,
    const std::string& rendezvous, const std::string& log_path) {
  const experiments::Site& site = options.sites.Of(net::Role::kWorker, rank);
  const experiments::RunPaths there = hosts.PathsAt(site);
  experiments::ChildOptions child;
  child.log_path = log_path;
  child.arguments = {there.worker_binary,
                     absl::StrCat("--rank=", rank),
                     absl::StrCat("--world_size=", options.ranks),
                     absl::StrCat("--rendezvous=", rendezvous),
                     "--rendezvous_host=launcher",
                     absl::StrCat("--listen=", net::FormatHostPort({site.address, 0})),
                     absl::StrCat("--token_file=", there.directory, "/", kTokenName)};
  for (const std::string& flag : FlagsOf(options.plan)) child.arguments.push_back(flag);
  if (rank == 0) {
    child.arguments.push_back(absl::StrCat("--json=", there.directory, "/", kRecordsName));
  }
  return hosts.Start(site, child);
}

// What the rendezvous saw is the cause; how processes ended is a detail of it.
absl::Status Cause(const net::RendezvousServer& rendezvous, ProcessSet& processes,
                   const absl::Status& status) {
  if (absl::IsCancelled(status)) return status;
  const absl::Status seen = rendezvous.status();
  if (seen.ok()) return status;
  return absl::Status(seen.code(), absl::StrCat(seen.message(), processes.Killed()));
}

absl::Status RunProcesses(const LocalOptions& options, experiments::RunHosts& hosts,
                          net::RendezvousServer& rendezvous, experiments::SignalWaiter& signals,
                          Clock& clock) {
  ProcessSet processes(signals, clock);
  std::vector<int> pids;
  for (int rank = 0; rank < options.ranks; ++rank) {
    const std::string log_path = absl::StrCat(options.directory, "/rank-", rank, ".log");
    ASSIGN_OR_RETURN(std::unique_ptr<experiments::StartedProcess> started,
                     StartRank(options, hosts, rank, rendezvous.address(), log_path));
    pids.push_back(started->pid());
    std::string name = absl::StrCat("rank ", rank);
    if (options.hosts != nullptr) {
      absl::StrAppend(&name, " at ", options.sites.Of(net::Role::kWorker, rank).address);
    }
    processes.Add(name, log_path, std::move(started));
  }
  if (options.on_started) options.on_started(pids);
  absl::Status status = processes.Watch(options.time_s, [&] { return rendezvous.status(); });
  if (status.ok()) return status;
  // A stream breaks a moment before or after its process is seen to end.
  if (!absl::IsCancelled(status)) processes.WaitForEnds(kEndS / 4);
  status = Cause(rendezvous, processes, status);
  rendezvous.Abort(std::string(status.message()));
  processes.WaitForEnds(kEndS);
  processes.TakeDown(kEndS);
  return status;
}

net::RendezvousServer::Options RendezvousOptions(const LocalOptions& options) {
  net::RendezvousServer::Options rendezvous;
  rendezvous.address = net::FormatHostPort({options.sites.launcher.address, 0});
  rendezvous.identity.job_fingerprint = FingerprintOf(options.plan, options.ranks);
  rendezvous.identity.token = net::MakeToken();
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
  const net::RendezvousServer::Options rendezvous_options = RendezvousOptions(options);
  const std::string token_path = absl::StrCat(options.directory, "/", kTokenName);
  const std::string records_path = absl::StrCat(options.directory, "/", kRecordsName);
  unlink(records_path.c_str());
  RETURN_IF_ERROR(os::WriteFile(token_path, rendezvous_options.identity.token + "\n", 0600));
  // A run has one, and hosts take it along.
  RETURN_IF_ERROR(os::WriteFile(options.directory + "/job.textproto", ""));
  ASSIGN_OR_RETURN(const std::unique_ptr<net::RendezvousServer> rendezvous,
                   net::RendezvousServer::Start(rendezvous_options, clock));
  absl::Status status = hosts.Begin(options.directory);
  if (status.ok()) status = RunProcesses(options, hosts, *rendezvous, signals, clock);
  unlink(token_path.c_str());
  if (status.ok()) {
    status = hosts.Collect(options.sites.Of(net::Role::kWorker, 0), kRecordsName);
  }
  hosts.End();
  RETURN_IF_ERROR(status);
  ASSIGN_OR_RETURN(const std::string lines, os::ReadFile(records_path));
  return ReadRecords(lines);
}

}  // namespace crossover::bench
