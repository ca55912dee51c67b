#include "experiments/launch/cluster_run.h"

#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "core/job.h"
#include "core/status.h"
#include "experiments/launch/child_process.h"
#include "experiments/launch/run_hosts.h"
#include "net/address.h"
#include "net/identity.h"
#include "net/tls_pem.h"
#include "os/files.h"

namespace crossover::experiments {
namespace {

constexpr double kProgressEveryS = 0.5;
// In the run's directory, here and on other hosts.
constexpr char kJobFileName[] = "job.textproto";
constexpr char kTokenFileName[] = "token";
constexpr char kTlsFileName[] = "tls.pem";
constexpr int64_t kNsPerS = 1'000'000'000;

struct Process {
  net::Role role;
  int rank;
  std::string log_path;
  std::unique_ptr<StartedProcess> process;
};

// Of the files that a process writes; the same names on its host and here.
std::string Stem(net::Role role, int rank) { return absl::StrCat(net::RoleName(role), "-", rank); }
std::string ReportName(net::Role role, int rank) { return Stem(role, rank) + ".report"; }
std::string ParametersName(int rank) { return absl::StrCat("parameters-", rank, ".f32"); }

// The processes of one run and what is known of their end.
class Cluster {
 public:
  Cluster(const ClusterOptions& options, SignalWaiter& signals, const Clock& clock)
      : options_(options),
        signals_(signals),
        clock_(clock),
        this_machine_(options.worker_binary, options.server_binary),
        hosts_(options.hosts == nullptr ? this_machine_ : *options.hosts) {}

  absl::StatusOr<std::vector<proto::ProcessReport>> Run() {
    absl::Status status = Start();
    if (status.ok()) status = Watch();
    if (!status.ok()) {
      // What the rendezvous saw by itself is the cause; what we tell it is not news.
      if (rendezvous_ != nullptr && !absl::IsCancelled(status)) status = Cause(status);
      TakeDown(status);
    }
    rendezvous_.reset();
    RemoveSecrets(options_.directory);
    if (status.ok()) status = CollectFiles();
    hosts_.End();
    RETURN_IF_ERROR(status);
    return ReadReports();
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
    RETURN_IF_ERROR(WriteFiles(rendezvous.identity));
    ASSIGN_OR_RETURN(rendezvous_, net::RendezvousServer::Start(rendezvous, clock_));
    for (int rank = 0; rank < rendezvous.workers; ++rank) {
      RETURN_IF_ERROR(StartProcess(net::Role::kWorker, rank));
    }
    for (int rank = 0; rank < rendezvous.servers; ++rank) {
      RETURN_IF_ERROR(StartProcess(net::Role::kServer, rank));
    }
    if (options_.on_started) {
      std::vector<int> pids;
      for (const Process& process : processes_) pids.push_back(process.process->pid());
      options_.on_started(pids);
    }
    return absl::OkStatus();
  }

  // What every process reads, on every host. Makes the identity's TLS.
  absl::Status WriteFiles(net::Identity& identity) {
    const std::string directory = options_.directory + "/";
    std::vector<std::string> files = {kJobFileName, kTokenFileName};
    RETURN_IF_ERROR(os::WriteFile(directory + kJobFileName, PrintJob(options_.job)));
    RETURN_IF_ERROR(os::WriteFile(directory + kTokenFileName, identity.token + "\n", 0600));
    if (options_.job.tls()) {
      ASSIGN_OR_RETURN(identity.tls_pem, net::MakeTlsPem());
      RETURN_IF_ERROR(os::WriteFile(directory + kTlsFileName, identity.tls_pem, 0600));
      files.emplace_back(kTlsFileName);
    }
    return hosts_.Begin(options_.directory, files);
  }

  absl::Status StartProcess(net::Role role, int rank) {
    const Site& site = options_.sites.Of(role, rank);
    const RunPaths there = hosts_.PathsAt(site);
    ChildOptions child;
    child.log_path = absl::StrCat(options_.directory, "/", Stem(role, rank), ".log");
    child.arguments = {
        role == net::Role::kWorker ? there.worker_binary : there.server_binary,
        absl::StrCat("--rank=", rank),
        absl::StrCat("--rendezvous=", rendezvous_->address()),
        absl::StrCat("--listen=", net::FormatHostPort({site.address, 0})),
        absl::StrCat("--job=", there.directory, "/", kJobFileName),
        absl::StrCat("--token_file=", there.directory, "/", kTokenFileName),
        absl::StrCat("--report=", there.directory, "/", ReportName(role, rank)),
    };
    if (options_.job.tls()) {
      child.arguments.push_back(absl::StrCat("--tls_file=", there.directory, "/", kTlsFileName));
    }
    if (role == net::Role::kWorker) {
      child.arguments.push_back("--rendezvous_host=launcher");
      if (options_.save_parameters) {
        child.arguments.push_back(
            absl::StrCat("--save_parameters=", there.directory, "/", ParametersName(rank)));
      }
    }
    // Before LibTorch is loaded: one thread a worker, and no spinning while it waits.
    child.environment = {{"OMP_NUM_THREADS", "1"}, {"OMP_WAIT_POLICY", "PASSIVE"}};
    ASSIGN_OR_RETURN(std::unique_ptr<StartedProcess> started, hosts_.Start(site, child));
    processes_.push_back({role, rank, child.log_path, std::move(started)});
    return absl::OkStatus();
  }

  // Until all processes have ended (OK only if all ended well) or the run is over.
  absl::Status Watch() {
    int64_t next_progress_ns = 0;
    while (true) {
      bool running = false;
      for (Process& process : processes_) {
        const std::optional<ExitStatus> ended = process.process->Poll();
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
    net::MemberState unknown;
    unknown.role = process.role;
    unknown.rank = process.rank;
    return unknown;
  }

  std::string DescribeEnd(const Process& process, const ExitStatus& ended) const {
    net::MemberState member = MemberOf(process);
    if (!member.joined) member.address = "no address yet";
    return net::DescribeLoss(
        member, absl::StrCat("the process ", ended.Describe(), "; its log is ", process.log_path));
  }

  // Tells everyone; who has not ended by itself after a quarter of the deadline is asked
  // by a signal, who has not after half of it is killed.
  void TakeDown(const absl::Status& why) {
    if (rendezvous_ != nullptr) rendezvous_->Abort(std::string(why.message()));
    const double quarter_s = options_.job.deadlines().loss_s() / 4;
    WaitForEnds(quarter_s);
    for (Process& process : processes_) process.process->Signal(SIGTERM);
    // A process that was stopped acts on SIGTERM only once it goes on.
    for (Process& process : processes_) process.process->Signal(SIGCONT);
    WaitForEnds(quarter_s);
    for (Process& process : processes_) process.process->Signal(SIGKILL);
    while (AnyRunning()) signals_.Wait(0.05);
  }

  void WaitForEnds(double seconds) {
    const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(seconds * kNsPerS);
    while (AnyRunning() && clock_.NowNs() < deadline_ns) signals_.Wait(0.05);
  }

  bool AnyRunning() {
    for (Process& process : processes_) {
      if (!process.process->Poll().has_value()) return true;
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
      const std::optional<ExitStatus> ended = process.process->Poll();
      if (!ended.has_value() || ended->signal == 0) continue;
      absl::StrAppend(&message, " (the process of ", net::ProcessName(process.role, process.rank),
                      " ", ended->Describe(), ")");
    }
    return absl::Status(seen.code(), message);
  }

  absl::Status CollectFiles() {
    for (const Process& process : processes_) {
      const Site& site = options_.sites.Of(process.role, process.rank);
      RETURN_IF_ERROR(hosts_.Collect(site, ReportName(process.role, process.rank)));
      if (!options_.save_parameters || process.role != net::Role::kWorker) continue;
      RETURN_IF_ERROR(hosts_.Collect(site, ParametersName(process.rank)));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<proto::ProcessReport>> ReadReports() {
    std::vector<proto::ProcessReport> reports;
    for (const Process& process : processes_) {
      const std::string path =
          absl::StrCat(options_.directory, "/", ReportName(process.role, process.rank));
      ASSIGN_OR_RETURN(const std::string bytes, os::ReadFile(path));
      proto::ProcessReport report;
      if (!report.ParseFromString(bytes)) {
        return absl::DataLossError(absl::StrCat(path, ": not a process report"));
      }
      reports.push_back(std::move(report));
    }
    return reports;
  }

  const ClusterOptions& options_;
  SignalWaiter& signals_;
  const Clock& clock_;
  LocalHost this_machine_;
  RunHosts& hosts_;
  std::unique_ptr<net::RendezvousServer> rendezvous_;
  std::vector<Process> processes_;
};

}  // namespace

void RemoveSecrets(const std::string& directory) {
  for (const char* name : {kTokenFileName, kTlsFileName}) {
    unlink(absl::StrCat(directory, "/", name).c_str());
  }
}

absl::StatusOr<std::vector<proto::ProcessReport>> RunCluster(const ClusterOptions& options,
                                                             SignalWaiter& signals,
                                                             const Clock& clock) {
  return Cluster(options, signals, clock).Run();
}

}  // namespace crossover::experiments
