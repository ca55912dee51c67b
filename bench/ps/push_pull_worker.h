// One worker of a push-pull test as a process: meets the others and the servers, measures, leaves.
#ifndef CROSSOVER_BENCH_PS_PUSH_PULL_WORKER_H_
#define CROSSOVER_BENCH_PS_PUSH_PULL_WORKER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/ps/push_pull_plan.h"
#include "core/clock.h"
#include "net/endpoint.h"
#include "net/tcp_endpoint.h"
#include "process/membership_session.h"
#include "proto/job.pb.h"
#include "ps/client.h"

namespace crossover::bench {

// Run on one thread; Stop from any.
class PushPullWorker {
 public:
  struct Options {
    PushPullPlan plan;
    proto::Job job;  // the servers' too
    int rank = 0;
    std::string token;
    std::string rendezvous_address;
    std::string listen_host;
    int listen_port = 0;
    std::vector<pid_t> server_pids;
    std::string record_path;  // gets the line; "" of ranks other than 0
  };
  // `clock` outlives the worker.
  PushPullWorker(Options options, const Clock& clock);

  // Blocks to the end. Errors: one line that names who failed and why.
  absl::Status Run();
  // Ends the test for everyone. False where this worker has not joined yet.
  bool Stop(const absl::Status& why) { return session_.Stop(why); }

 private:
  absl::StatusOr<std::string> Listen();
  absl::Status Work();
  absl::StatusOr<std::unique_ptr<net::Endpoint>> ConnectWorkers();
  ps::Client::Options ClientOptions() const;
  absl::Status Measure(net::Endpoint& endpoint, ps::Client& client, Timeline& timeline);

  const Options options_;
  const Clock& clock_;
  std::unique_ptr<net::TcpListener> listener_;  // until the workers connect
  process::MembershipSession session_;
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_PS_PUSH_PULL_WORKER_H_
