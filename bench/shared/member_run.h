// The processes of one run that meet at a rendezvous of ours: started one by one, on this machine
// or on hosts that are reached by ssh, watched together, and ended together with one cause.
#ifndef CROSSOVER_BENCH_SHARED_MEMBER_RUN_H_
#define CROSSOVER_BENCH_SHARED_MEMBER_RUN_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/shared/process_set.h"
#include "core/clock.h"
#include "experiments/launch/run_hosts.h"
#include "experiments/launch/signal_waiter.h"
#include "experiments/launch/site.h"
#include "net/rendezvous_server.h"

namespace crossover::bench {

// Belongs to the main thread.
class MemberRun {
 public:
  struct Options {
    net::RendezvousServer::Options rendezvous;  // its token is made here
    std::string directory;                      // for logs and the token; exists
    experiments::RunHosts* hosts = nullptr;     // borrowed
  };
  // Starts the rendezvous and readies the hosts. What is borrowed outlives the run.
  static absl::StatusOr<std::unique_ptr<MemberRun>> Start(Options options,
                                                          experiments::SignalWaiter& signals,
                                                          Clock& clock);
  // Kills what still runs, on the hosts too, and removes the token.
  ~MemberRun();

  // Starts one, its log in DIRECTORY/NAME.log with - for blanks. `name` is for errors: "rank 2".
  // `arguments` begin with the program; flags for the meeting point, the token and where to listen
  // are added. Returns the process's id on its host.
  absl::StatusOr<int> Add(const std::string& name, const experiments::Site& site,
                          std::vector<std::string> arguments);
  // Until all have ended. OK only if all ended well; otherwise all are ended. Errors: one line that
  // names who was lost or failed and why; CANCELLED after SIGINT or SIGTERM; DeadlineExceeded.
  absl::Status Watch(double time_s);

 private:
  MemberRun(Options options, experiments::SignalWaiter& signals, Clock& clock);
  absl::Status Begin(const Clock& clock);
  absl::Status Cause(const absl::Status& status);

  const Options options_;
  const std::string token_path_;
  std::unique_ptr<net::RendezvousServer> rendezvous_;
  ProcessSet processes_;
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_SHARED_MEMBER_RUN_H_
