// One run of a job: starts its servers and workers, watches over them, and collects what they
// measured. Whatever the end, everything it started has ended when it returns.
#ifndef CROSSOVER_EXPERIMENTS_LAUNCH_CLUSTER_RUN_H_
#define CROSSOVER_EXPERIMENTS_LAUNCH_CLUSTER_RUN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "experiments/launch/run_hosts.h"
#include "experiments/launch/signal_waiter.h"
#include "experiments/launch/site.h"
#include "net/rendezvous_server.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"

namespace crossover::experiments {

struct ClusterOptions {
  proto::Job job;  // validated, all fields written out
  // Logs, the job and the reports of the run go here; it exists.
  std::string directory;
  std::string worker_binary;
  std::string server_binary;
  // Where the launcher's rendezvous and every process listen.
  Sites sites;
  // Where they are started; null: on this machine. Borrowed.
  RunHosts* hosts = nullptr;
  // Every worker writes its final parameters to DIRECTORY/parameters-RANK.f32.
  bool save_parameters = false;
  // Called about twice a second with every process's state.
  std::function<void(const std::vector<net::MemberState>&)> on_progress;
  // For tests: called once with the process ids, workers by rank and then servers
  // by rank, as soon as all have been started.
  std::function<void(const std::vector<int>&)> on_started;
};

// Reports of the workers by rank, then of the servers by rank. Errors: one line
// that names role, rank, address and step of the process that was lost and the
// cause; CANCELLED after SIGINT or SIGTERM. Blocks for the length of the run; after a loss at most
// deadlines.loss_s more.
absl::StatusOr<std::vector<proto::ProcessReport>> RunCluster(const ClusterOptions& options,
                                                             SignalWaiter& signals,
                                                             const Clock& clock);

// Removes the run's token and key from its directory, as RunCluster does at its end: a launcher
// that was killed has left them.
void RemoveSecrets(const std::string& directory);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_LAUNCH_CLUSTER_RUN_H_
