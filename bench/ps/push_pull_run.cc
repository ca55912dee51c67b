#include "bench/ps/push_pull_run.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/shared/member_run.h"
#include "core/job.h"
#include "core/status.h"
#include "experiments/launch/run_hosts.h"
#include "net/address.h"
#include "net/identity.h"
#include "net/rendezvous_server.h"
#include "os/files.h"
#include "proto/job.pb.h"

namespace crossover::bench {
namespace {

net::RendezvousServer::Options RendezvousOptions(const PushPullRunOptions& options,
                                                 const proto::Job& job) {
  net::RendezvousServer::Options rendezvous;
  rendezvous.address = net::FormatHostPort({options.sites.launcher.address, 0});
  rendezvous.identity.job_fingerprint = JobFingerprint(job);
  rendezvous.workers = job.workers();
  rendezvous.servers = job.servers();
  rendezvous.join_s = job.deadlines().join_s();
  rendezvous.loss_s = job.deadlines().loss_s() / 2;
  return rendezvous;
}

class PushPullRun {
 public:
  PushPullRun(const PushPullRunOptions& options, MemberRun& run)
      : options_(options),
        run_(run),
        job_flag_(absl::StrCat("--job=", options.directory, "/job.textproto")) {}

  absl::Status Run(const std::string& record_path) {
    std::vector<int> pids;
    for (int rank = 0; rank < options_.plan.servers; ++rank) {
      ASSIGN_OR_RETURN(pids.emplace_back(), StartServer(rank));
    }
    const std::string server_pids = absl::StrJoin(pids, ",");
    for (int rank = 0; rank < options_.plan.workers; ++rank) {
      std::vector<std::string> flags = FlagsOf(options_.plan);
      if (rank == 0) {
        flags.insert(flags.end(), {absl::StrCat("--server_pids=", server_pids),
                                   absl::StrCat("--record=", record_path)});
      }
      ASSIGN_OR_RETURN(pids.emplace_back(), StartWorker(rank, flags));
    }
    if (options_.on_started) options_.on_started(pids);
    return run_.Watch(options_.time_s);
  }

 private:
  absl::StatusOr<int> StartServer(int rank) {
    return run_.Add(net::ProcessName(net::Role::kServer, rank),
                    options_.sites.Of(net::Role::kServer, rank),
                    {options_.server_binary, absl::StrCat("--rank=", rank), job_flag_});
  }

  absl::StatusOr<int> StartWorker(int rank, const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {options_.worker_binary, absl::StrCat("--rank=", rank),
                                          job_flag_, absl::StrCat("--bytes=", options_.plan.bytes)};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return run_.Add(net::ProcessName(net::Role::kWorker, rank),
                    options_.sites.Of(net::Role::kWorker, rank), std::move(arguments));
  }

  const PushPullRunOptions& options_;
  MemberRun& run_;
  const std::string job_flag_;
};

}  // namespace

absl::StatusOr<PushPullRecord> RunPushPull(const PushPullRunOptions& options,
                                           experiments::SignalWaiter& signals, Clock& clock) {
  ASSIGN_OR_RETURN(const proto::Job job, JobFor(options.plan));
  const std::string record_path = absl::StrCat(options.directory, "/record.json");
  unlink(record_path.c_str());
  RETURN_IF_ERROR(os::WriteFile(options.directory + "/job.textproto", PrintJob(job)));
  experiments::LocalHost hosts(options.worker_binary, options.server_binary);
  ASSIGN_OR_RETURN(const std::unique_ptr<MemberRun> run,
                   MemberRun::Start({RendezvousOptions(options, job), options.directory, &hosts},
                                    signals, clock));
  RETURN_IF_ERROR(PushPullRun(options, *run).Run(record_path));
  ASSIGN_OR_RETURN(const std::string line, os::ReadFile(record_path));
  return ReadPushPull(line);
}

}  // namespace crossover::bench
