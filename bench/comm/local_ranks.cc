#include "bench/comm/local_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <memory>

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
constexpr double kLossSMax = 10;

experiments::ChildOptions RankProcess(const LocalOptions& options, int rank,
                                      const std::string& rendezvous, const std::string& token) {
  const Place& place = options.places[rank % options.places.size()];
  experiments::ChildOptions child;
  child.log_path = absl::StrCat(options.directory, "/rank-", rank, ".log");
  child.network_namespace = place.network_namespace;
  child.arguments = {options.binary,
                     absl::StrCat("--rank=", rank),
                     absl::StrCat("--world_size=", options.ranks),
                     absl::StrCat("--rendezvous=", rendezvous),
                     "--rendezvous_host=launcher",
                     absl::StrCat("--listen=", net::FormatHostPort({place.address, 0})),
                     absl::StrCat("--token_file=", token)};
  for (const std::string& flag : FlagsOf(options.plan)) child.arguments.push_back(flag);
  if (rank == 0) child.arguments.push_back("--json=" + options.directory + "/records.jsonl");
  return child;
}

// What the rendezvous saw is the cause; how processes ended is a detail of it.
absl::Status Cause(const net::RendezvousServer& rendezvous, ProcessSet& processes,
                   const absl::Status& status) {
  if (absl::IsCancelled(status)) return status;
  const absl::Status seen = rendezvous.status();
  if (seen.ok()) return status;
  return absl::Status(seen.code(), absl::StrCat(seen.message(), processes.Killed()));
}

absl::Status RunProcesses(const LocalOptions& options, net::RendezvousServer& rendezvous,
                          const std::string& token_path, experiments::SignalWaiter& signals,
                          Clock& clock) {
  ProcessSet processes(signals, clock);
  std::vector<int> pids;
  for (int rank = 0; rank < options.ranks; ++rank) {
    ASSIGN_OR_RETURN(const int pid,
                     processes.Start(absl::StrCat("rank ", rank),
                                     RankProcess(options, rank, rendezvous.address(), token_path)));
    pids.push_back(pid);
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

}  // namespace

absl::StatusOr<std::vector<Record>> RunLocalRanks(const LocalOptions& options,
                                                  experiments::SignalWaiter& signals,
                                                  Clock& clock) {
  net::RendezvousServer::Options rendezvous_options;
  rendezvous_options.address = net::FormatHostPort({options.launcher_address, 0});
  rendezvous_options.identity.job_fingerprint = FingerprintOf(options.plan, options.ranks);
  rendezvous_options.identity.token = net::MakeToken();
  rendezvous_options.workers = options.ranks;
  rendezvous_options.join_s = options.plan.deadline_s;
  rendezvous_options.loss_s = std::min(options.plan.deadline_s / 2, kLossSMax);
  const std::string token_path = options.directory + "/token";
  RETURN_IF_ERROR(os::WriteFile(token_path, rendezvous_options.identity.token + "\n", 0600));
  const std::string records_path = options.directory + "/records.jsonl";
  unlink(records_path.c_str());
  ASSIGN_OR_RETURN(const std::unique_ptr<net::RendezvousServer> rendezvous,
                   net::RendezvousServer::Start(rendezvous_options, clock));
  const absl::Status status = RunProcesses(options, *rendezvous, token_path, signals, clock);
  unlink(token_path.c_str());
  RETURN_IF_ERROR(status);
  ASSIGN_OR_RETURN(const std::string lines, os::ReadFile(records_path));
  return ReadRecords(lines);
}

}  // namespace crossover::bench
