#include "bench/ps/push_pull_worker.h"

#include <utility>

#include "bench/ps/push_pull.h"
#include "bench/ps/push_pull_record.h"
#include "bench/shared/control.h"
#include "core/job.h"
#include "core/status.h"
#include "core/timeline.h"
#include "net/rendezvous_client.h"
#include "os/files.h"
#include "ps/client_options.h"

namespace crossover::bench {
namespace {

// The learning rate is constant, so no step is the last.
constexpr int64_t kTotalSteps = 1'000'000'000;

process::MembershipSession::Options SessionOptions(const PushPullWorker::Options& options) {
  process::MembershipSession::Options session;
  session.identity = {.job_fingerprint = JobFingerprint(options.job),
                      .token = options.token,
                      .role = net::Role::kWorker,
                      .rank = options.rank};
  session.rendezvous_address = options.rendezvous_address;
  session.workers = options.job.workers();
  session.servers = options.job.servers();
  session.join_s = options.job.deadlines().join_s();
  session.loss_s = options.job.deadlines().loss_s() / 2;
  return session;
}

}  // namespace

PushPullWorker::PushPullWorker(Options options, const Clock& clock)
    : options_(std::move(options)), clock_(clock), session_(SessionOptions(options_), clock) {}

absl::Status PushPullWorker::Run() {
  return session_.Run([this] { return Listen(); }, [this] { return Work(); });
}

absl::StatusOr<std::string> PushPullWorker::Listen() {
  ASSIGN_OR_RETURN(listener_, net::TcpListener::Listen(options_.listen_host, options_.listen_port));
  return listener_->address();
}

absl::Status PushPullWorker::Work() {
  ASSIGN_OR_RETURN(const std::unique_ptr<net::Endpoint> endpoint, ConnectWorkers());
  Timeline timeline(clock_);
  ASSIGN_OR_RETURN(const std::unique_ptr<ps::Client> client,
                   ps::Client::Connect(ClientOptions(), BucketsOf(options_.plan), timeline));
  return session_.WithAbort(
      [&](const absl::Status& why) {
        endpoint->Abort(why);
        client->Abort(why);
      },
      [&] { return Measure(*endpoint, *client, timeline); });
}

absl::StatusOr<std::unique_ptr<net::Endpoint>> PushPullWorker::ConnectWorkers() {
  net::TcpEndpointOptions tcp;
  tcp.identity = session_.identity();
  for (const net::RosterMember& worker : session_.member().roster().workers) {
    tcp.addresses.push_back(worker.data_address);
  }
  tcp.connect_s = options_.job.deadlines().join_s();
  tcp.cancelled = [this] { return session_.aborted(); };
  return net::ConnectTcp(std::move(listener_), tcp, clock_);
}

ps::Client::Options PushPullWorker::ClientOptions() const {
  ps::Client::Options client =
      ps::ClientOptionsOf(options_.job, session_.identity(), session_.member().roster().servers);
  client.total_steps = kTotalSteps;
  client.cancelled = [this] { return session_.aborted(); };
  return client;
}

absl::Status PushPullWorker::Measure(net::Endpoint& endpoint, ps::Client& client,
                                     Timeline& timeline) {
  session_.member().SetStatus(0, "measure", 0, 0);
  Control control(endpoint, options_.job.deadlines().step_s(), clock_);
  ASSIGN_OR_RETURN(
      PushPullRecord record,
      MeasurePushPull(options_.plan, control, {&client, &timeline, options_.server_pids}));
  record.part_bytes = options_.job.ps().part_bytes();
  record.credits = options_.job.ps().credits();
  if (!options_.record_path.empty()) {
    RETURN_IF_ERROR(os::WriteFile(options_.record_path, WritePushPull(record) + "\n"));
  }
  return client.Leave();
}

}  // namespace crossover::bench
