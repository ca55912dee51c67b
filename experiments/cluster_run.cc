#include "experiments/cluster_run.h"

#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "core/job.h"
#include "core/status.h"
#include "experiments/child_process.h"
#include "net/address.h"
#include "net/identity.h"
#include "os/files.h"

namespace crossover::experiments {
namespace {

constexpr double kProgressEveryS = 0.5;
constexpr int64_t kNsPerS = 1'000'000'000;

struct Process {
  net::Role role;
  int rank;
  std::string report_path;
  std::string log_path;
  ChildProcess child;
};

// The processes of one run and what is known of their end.
class Cluster {
 public:
  Cluster(const ClusterOptions& options, SignalWaiter& signals, const Clock& clock)
      : options_(options), signals_(signals), clock_(clock) {}

  absl::StatusOr<std::vector<proto::ProcessReport>> Run() {
    absl::Status status = Start();
    if (status.ok()) status = Watch();
    if (!status.ok()) {
      // What the rendezvous saw by itself is the cause; what we tell it is not news.
      if (rendezvous_ != nullptr && !absl::IsCancelled(status)) status = Cause(status);
      TakeDown(status);
    }
    rendezvous_.reset();
    unlink(token_path_.c_str());
    RETURN_IF_ERROR(status);
    return CollectReports();
  }

 private:
  absl::Status Start() {
    net::RendezvousServer::Options rendezvous;
    rendezvous.address = net::FormatHostPort({options_.sites.launcher.address, 0});
    rendezvous.identity.job_fingerprint = JobFingerprint(options_.job);
    rendezvous.identity.token = net::MakeToken();
    rendezvous.workers = WorkerProcesses(options_.job);
    rendezvous.servers = UsesServers(options_.job) ? options_.job.servers() : 0;
    rendezvous.join_s = options_.job.deadlines().join_s();
    // Half the deadline to notice a silence, the other half to end (TakeDown).
    rendezvous.loss_s = options_.job.deadlines().loss_s() / 2;
    RETURN_IF_ERROR(os::WriteFile(options_.directory + "/job.textproto", PrintJob(options_.job)));
    token_path_ = options_.directory + "/token";
    RETURN_IF_ERROR(os::WriteFile(token_path_, rendezvous.identity.token + "\n", 0600));
    ASSIGN_OR_RETURN(rendezvous_, net::RendezvousServer::Start(rendezvous, clock_));
    for (int rank = 0; rank < rendezvous.workers; ++rank) {
      RETURN_IF_ERROR(StartProcess(net::Role::kWorker, rank));
    }
    for (int rank = 0; rank < rendezvous.servers; ++rank) {
      RETURN_IF_ERROR(StartProcess(net::Role::kServer, rank));
    }
    if (options_.on_started) {
      std::vector<int> pids;
      for (const Process& process : processes_) pids.push_back(process.child.pid());
      options_.on_started(pids);
    }
    return absl::OkStatus();
  }

  absl::Status StartProcess(net::Role role, int rank) {
    const std::string stem = absl::StrCat(options_.directory, "/", net::RoleName(role), "-", rank);
    ChildOptions child;
    const Site& site = options_.sites.Of(role, rank);
    child.log_path = stem + ".log";
    child.network_namespace = site.network_namespace;
    child.arguments = {
        role == net::Role::kWorker ? options_.worker_binary : options_.server_binary,
        absl::StrCat("--rank=", rank),
        absl::StrCat("--rendezvous=", rendezvous_->address()),
        absl::StrCat("--listen=", net::FormatHostPort({site.address, 0})),
        absl::StrCat("--job=", options_.directory, "/job.textproto"),
        absl::StrCat("--token_file=", token_path_),
        absl::StrCat("--report=", stem, ".report"),
    };
    if (role == net::Role::kWorker) {
      child.arguments.push_back("--rendezvous_host=launcher");
      if (options_.save_parameters) {
        child.arguments.push_back(
            absl::StrCat("--save_parameters=", options_.directory, "/parameters-", rank, ".f32"));
      }
    }
    // Before LibTorch is loaded: one thread a worker, and no spinning while it waits.
    child.environment = {{"OMP_NUM_THREADS", "1"}, {"OMP_WAIT_POLICY", "PASSIVE"}};
    ASSIGN_OR_RETURN(ChildProcess started, ChildProcess::Start(child));
    processes_.push_back({role, rank, stem + ".report", child.log_path, std::move(started)});
    return absl::OkStatus();
  }

  // Until all processes have ended (OK only if all ended well) or the run is over.
  absl::Status Watch() {
    int64_t next_progress_ns = 0;
    while (true) {
      bool running = false;
      for (Process& process : processes_) {
        const std::optional<ExitStatus> ended = process.child.Poll();
        if (!ended.has_value()) {
          running = true;
        } else if (!ended->ok()) {
          return absl::UnavailableError(DescribeEnd(process, *ended));
        }
      }
      if (!running) return absl::OkStatus();
      RETURN_IF_ERROR(rendezvous_->status());
      if (options_.on_progress && clock_.NowNs() >= next_progress_ns) {
        options_.on_progress(rendezvous_->members());
        next_progress_ns = clock_.NowNs() + static_cast<int64_t>(kProgressEveryS * kNsPerS);
      }
      const int signal = signals_.Wait(0.1);
      if (signal == SIGINT || signal == SIGTERM) {
        return absl::CancelledError(signal == SIGINT ? "interrupted (SIGINT)"
                                                     : "terminated (SIGTERM)");
      }
    }
  }

  net::MemberState MemberOf(const Process& process) const {
    for (const net::MemberState& member : rendezvous_->members()) {
      if (member.role == process.role && member.rank == process.rank) return member;
    }
    return {};
  }

  std::string DescribeEnd(const Process& process, const ExitStatus& ended) const {
    const net::MemberState member = MemberOf(process);
    return net::DescribeLoss(
        process.role, process.rank, member.joined ? member.address : "no address yet", member.step,
        absl::StrCat("the process ", ended.Describe(), "; its log is ", process.log_path));
  }

  // Tells everyone; who has not ended by itself after a quarter of the deadline is asked
  // by a signal, who has not after half of it is killed.
  void TakeDown(const absl::Status& why) {
    if (rendezvous_ != nullptr) rendezvous_->Abort(std::string(why.message()));
    const double quarter_s = options_.job.deadlines().loss_s() / 4;
    WaitForEnds(quarter_s);
    for (Process& process : processes_) process.child.Signal(SIGTERM);
    // A process that was stopped acts on SIGTERM only once it goes on.
    for (Process& process : processes_) process.child.Signal(SIGCONT);
    WaitForEnds(quarter_s);
    for (Process& process : processes_) process.child.Signal(SIGKILL);
    while (AnyRunning()) signals_.Wait(0.05);
  }

  void WaitForEnds(double seconds) {
    const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(seconds * kNsPerS);
    while (AnyRunning() && clock_.NowNs() < deadline_ns) signals_.Wait(0.05);
  }

  bool AnyRunning() {
    for (Process& process : processes_) {
      if (!process.child.Poll().has_value()) return true;
    }
    return false;
  }

  // What the user is told: what the rendezvous saw, if it saw anything, and how the
  // processes that have ended badly by now did so: it sees only closed connections.
  absl::Status Cause(const absl::Status& status) {
    const absl::Status seen = rendezvous_->status();
    if (seen.ok()) return status;
    std::string message(seen.message());
    for (Process& process : processes_) {
      const std::optional<ExitStatus> ended = process.child.Poll();
      if (!ended.has_value() || ended->signal == 0) continue;
      absl::StrAppend(&message, " (the process of ", net::ProcessName(process.role, process.rank),
                      " ", ended->Describe(), ")");
    }
    return absl::Status(seen.code(), message);
  }

  absl::StatusOr<std::vector<proto::ProcessReport>> CollectReports() {
    std::vector<proto::ProcessReport> reports;
    for (const Process& process : processes_) {
      ASSIGN_OR_RETURN(const std::string bytes, os::ReadFile(process.report_path));
      proto::ProcessReport report;
      if (!report.ParseFromString(bytes)) {
        return absl::DataLossError(absl::StrCat(process.report_path, ": not a process report"));
      }
      reports.push_back(std::move(report));
    }
    return reports;
  }

  const ClusterOptions& options_;
  SignalWaiter& signals_;
  const Clock& clock_;
  std::string token_path_;
  std::unique_ptr<net::RendezvousServer> rendezvous_;
  std::vector<Process> processes_;
};

}  // namespace

absl::StatusOr<std::vector<proto::ProcessReport>> RunCluster(const ClusterOptions& options,
                                                             SignalWaiter& signals,
                                                             const Clock& clock) {
  return Cluster(options, signals, clock).Run();
}

}  // namespace crossover::experiments
