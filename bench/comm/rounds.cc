#include "bench/comm/rounds.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/comm/in_process.h"
#include "bench/comm/limits.h"
#include "bench/comm/local_ranks.h"
#include "bench/comm/memory_check.h"
#include "bench/comm/peers.h"
#include "bench/shared/test_lab.h"
#include "core/status.h"
#include "os/resident_memory.h"

namespace crossover::bench {
namespace {

absl::StatusOr<std::unique_ptr<TestLab>> BringUpLabFor(const RoundsOptions& options,
                                                       experiments::SignalWaiter& signals) {
  TestLabOptions lab;
  lab.network = options.network;
  lab.workers_per_node = options.ranks_per_node;
  lab.worker_nodes = (options.ranks + options.ranks_per_node - 1) / options.ranks_per_node;
  lab.congestion_control = options.plans.front().congestion_control;
  lab.say = options.say;
  return BringUpLab(lab, signals);
}

// Over which the peers stand beside these plans.
std::vector<std::string> PeerTransports(const std::vector<TestPlan>& plans, bool in_lab) {
  std::vector<std::string> transports;
  for (const TestPlan& plan : plans) {
    const bool shared = !in_lab && (plan.transport == Transport::kSharedMemory ||
                                    (plan.transport == Transport::kAuto && !plan.algorithm));
    const std::string transport = shared ? "shared_memory" : "tcp";
    if (std::find(transports.begin(), transports.end(), transport) == transports.end()) {
      transports.push_back(transport);
    }
  }
  return transports;
}

class Rounds {
 public:
  Rounds(const RoundsOptions& options, experiments::SignalWaiter& signals, Clock& clock)
      : options_(options), signals_(signals), clock_(clock) {}

  absl::Status Run() {
    if (!options_.peers.empty()) RETURN_IF_ERROR(PreparePeers());
    if (NamesLab(options_.network)) {
      ASSIGN_OR_RETURN(lab_, BringUpLabFor(options_, signals_));
      Keep(ProbeRecord(lab_->probe), 0);
    }
    const size_t turns = options_.plans.size() + peers_.size();
    for (int round = 0; round < options_.rounds; ++round) {
      for (size_t turn = 0; turn < turns; ++turn) {
        RETURN_IF_ERROR(TakeTurn((turn + round) % turns, round));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status PreparePeers() {
    const bool in_lab = NamesLab(options_.network);
    ASSIGN_OR_RETURN(std::vector<PeerRun> wanted,
                     PeerRuns(options_.peers, PeerTransports(options_.plans, in_lab)));
    for (const TestPlan& plan : options_.plans) RETURN_IF_ERROR(CheckComparable(plan));
    if (!PeerIsBuilt(options_.programs, "gloo") && !PeerIsBuilt(options_.programs, "openmpi")) {
      options_.say("building the peers' programs");
      std::string said;
      RETURN_IF_ERROR(BuildPeers(options_.programs, options_.directory, signals_, clock_, said));
      if (!said.empty()) options_.say(said);
    }
    for (PeerRun& run : wanted) {
      if (PeerIsBuilt(options_.programs, run.library)) peers_.push_back(std::move(run));
    }
    return absl::OkStatus();
  }

  absl::Status TakeTurn(size_t turn, int round) {
    absl::StatusOr<std::vector<Record>> records =
        turn < options_.plans.size() ? RunOurs(options_.plans[turn], round)
                                     : RunTheirs(peers_[turn - options_.plans.size()], round);
    RETURN_IF_ERROR(records.status());
    for (const Record& record : *records) Keep(record, round);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Record>> RunOurs(const TestPlan& plan, int round) {
    options_.say(absl::StrCat(
        "round ", round + 1, " of ", options_.rounds, ": crossover ", NameOf(plan.transport), " ",
        plan.algorithm ? allreduce::NameOf(*plan.algorithm) : "auto",
        plan.shared_buffers ? ", shared buffers" : "", ", ", options_.ranks, " ranks"));
    if (options_.hosts == nullptr) {  // elsewhere the ranks look, each machine's at its own
      RETURN_IF_ERROR(CheckMemory(plan, options_.ranks, options_.ranks, os::AvailableBytes()));
    }
    if (plan.transport == Transport::kInproc) {
      return RunInProcess(
          plan, options_.ranks, [this] { return WaitUnlessStopped(); }, clock_);
    }
    LocalOptions local;
    local.plan = plan;
    local.ranks = options_.ranks;
    local.directory = options_.directory;
    local.binary = options_.binary;
    local.sites = lab_ ? lab_->sites : options_.sites;
    local.hosts = options_.hosts;
    local.on_started = options_.on_started;
    return RunLocalRanks(local, signals_, clock_);
  }

  absl::StatusOr<std::vector<Record>> RunTheirs(const PeerRun& run, int round) {
    options_.say(absl::StrCat("round ", round + 1, " of ", options_.rounds, ": ", run.library, " ",
                              run.transport, " ", run.algorithms, ", ", options_.ranks, " ranks"));
    PeerOptions peer;
    peer.plan = options_.plans.front();
    peer.ranks = options_.ranks;
    peer.programs = options_.programs;
    peer.directory = options_.directory;
    peer.sites = lab_ ? lab_->sites.workers : options_.sites.workers;
    if (lab_) peer.node_names = lab_->worker_nodes;
    return RunPeer(run, peer, signals_, clock_);
  }

  absl::Status WaitUnlessStopped() {
    signals_.Wait(0.1);
    return signals_.ended_by() == 0 ? absl::OkStatus() : absl::CancelledError("told to stop");
  }

  void Keep(Record record, int round) {
    record.round = options_.first_round + round;
    if (lab_) record.network = options_.network;
    record.ranks_per_node = options_.ranks_per_node;
    options_.found(record);
  }

  const RoundsOptions& options_;
  experiments::SignalWaiter& signals_;
  Clock& clock_;
  std::vector<PeerRun> peers_;
  std::unique_ptr<TestLab> lab_;  // null on loopback
};

}  // namespace

absl::Status RunRounds(const RoundsOptions& options, experiments::SignalWaiter& signals,
                       Clock& clock) {
  return Rounds(options, signals, clock).Run();
}

}  // namespace crossover::bench
