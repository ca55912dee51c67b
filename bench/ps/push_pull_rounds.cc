#include "bench/ps/push_pull_rounds.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/comm/limits.h"
#include "bench/comm/local_ranks.h"
#include "bench/comm/test_plan.h"
#include "bench/ps/push_pull_run.h"
#include "bench/shared/sizes.h"
#include "bench/shared/test_lab.h"
#include "core/status.h"
#include "experiments/launch/site.h"
#include "lab/network_spec.h"
#include "lab/probe.h"

namespace crossover::bench {
namespace {

class Rounds {
 public:
  Rounds(const PushPullRoundsOptions& options, experiments::SignalWaiter& signals, Clock& clock)
      : options_(options), setup_(options.setup), signals_(signals), clock_(clock) {}

  absl::Status Run() {
    if (!setup_.network.empty()) RETURN_IF_ERROR(BringUp());
    for (int64_t round = 0; round < options_.rounds; ++round) {
      RETURN_IF_ERROR(RunRound(round));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status BringUp() {
    TestLabOptions lab;
    lab.network = setup_.network;
    lab.worker_nodes = static_cast<int>(WorkerNodes(setup_));
    lab.server_nodes = setup_.colocated ? 0 : static_cast<int>(setup_.plan.servers);
    lab.workers_per_node = static_cast<int>(setup_.workers_per_node);
    lab.say = options_.say;
    ASSIGN_OR_RETURN(lab_, BringUpLab(lab, signals_));
    sites_ = lab_->sites;
    const lab::NetworkSpec& network = lab_->network->network();
    links_differ_ = !setup_.colocated && network.LinkOf("worker").rate_bits_per_s !=
                                             network.LinkOf("server").rate_bits_per_s;
    return absl::OkStatus();
  }

  absl::Status RunRound(int64_t round) {
    ASSIGN_OR_RETURN(const Record limit, MeasureLink());
    KeepBeside(limit, round);
    for (const int64_t bytes : setup_.sizes) {
      const bool ring_first = setup_.ring && round % 2 == 1;
      if (ring_first) RETURN_IF_ERROR(RunRing(bytes, round));
      RETURN_IF_ERROR(RunServers(bytes, limit, round));
      if (setup_.ring && !ring_first) RETURN_IF_ERROR(RunRing(bytes, round));
    }
    return absl::OkStatus();
  }

  void Say(int64_t round, const std::string& what) {
    options_.say(absl::StrCat("round ", round + 1, " of ", options_.rounds, ": ", what));
  }

  // All nodes at once in both directions; on loopback as many processes as the test has.
  absl::StatusOr<Record> MeasureLink() {
    if (lab_ == nullptr) return MeasureLoopback();
    lab::ProbeOptions probe;
    probe.cancelled = [this] {
      signals_.Wait(0);
      return signals_.ended_by() != 0;
    };
    ASSIGN_OR_RETURN(const lab::ProbeResult found, lab::ProbeLab(*lab_->network, probe));
    return ProbeRecord(found);
  }

  absl::StatusOr<Record> MeasureLoopback() {
    TestPlan plan;
    plan.op = allreduce::Kind::kBarrier;
    plan.sizes = {0};
    plan.transport = Transport::kTcp;
    plan.iterations = 1;
    plan.out_of_place = false;
    plan.deadline_s = setup_.plan.deadline_s;
    ASSIGN_OR_RETURN(const std::vector<Record> records,
                     RunRanks(plan, static_cast<int>(setup_.plan.workers + setup_.plan.servers)));
    for (const Record& record : records) {
      if (record.algorithm == kAllDuplex) return record;
    }
    return absl::InternalError("comm_test: no line of all_duplex");
  }

  absl::Status RunRing(int64_t bytes, int64_t round) {
    Say(round, absl::StrCat(SizeText(bytes), " round our ring, ", setup_.plan.workers, " workers"));
    TestPlan plan;
    plan.sizes = {bytes};
    plan.algorithm = allreduce::Algorithm::kRing;
    plan.transport = Transport::kTcp;
    plan.out_of_place = false;
    plan.warmup = setup_.plan.warmup;
    plan.iterations = setup_.plan.iterations;
    plan.budget_s = setup_.plan.budget_s;
    plan.deadline_s = setup_.plan.deadline_s;
    plan.limits = false;
    ASSIGN_OR_RETURN(const std::vector<Record> records,
                     RunRanks(plan, static_cast<int>(setup_.plan.workers)));
    for (const Record& record : records) KeepBeside(record, round);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Record>> RunRanks(const TestPlan& plan, int ranks) {
    LocalOptions local;
    local.plan = plan;
    local.ranks = ranks;
    local.directory = options_.directory;
    local.binary = options_.comm_binary;
    local.sites = sites_;
    return RunLocalRanks(local, signals_, clock_);
  }

  absl::Status RunServers(int64_t bytes, const Record& limit, int64_t round) {
    Say(round, absl::StrCat(SizeText(bytes), " through ", setup_.plan.servers,
                            setup_.colocated ? " colocated" : "", " servers, ", setup_.plan.workers,
                            " workers"));
    PushPullRunOptions run;
    run.plan = setup_.plan;
    run.plan.bytes = bytes;
    run.directory = options_.directory;
    run.worker_binary = options_.worker_binary;
    run.server_binary = options_.server_binary;
    run.sites = sites_;
    ASSIGN_OR_RETURN(PushPullRecord record, RunPushPull(run, signals_, clock_));
    record.network = setup_.network;
    record.placement = setup_.colocated ? "colocated" : "dedicated";
    record.workers_per_node = setup_.workers_per_node;
    record.settings = SettingsText(setup_.plan);
    record.round = options_.first_round + round;
    record.link_GBps = limit.busbw_GBps;
    // The slowest receiver says nothing of links of another rate.
    if (!links_differ_) record.bound_us = BoundUs(setup_, bytes, limit.busbw_GBps * 1e9);
    options_.found(record);
    return absl::OkStatus();
  }

  void KeepBeside(Record record, int64_t round) {
    record.round = options_.first_round + round;
    record.network = setup_.network;
    options_.found_beside(record);
  }

  const PushPullRoundsOptions& options_;
  const PushPullSetup& setup_;
  experiments::SignalWaiter& signals_;
  Clock& clock_;
  std::unique_ptr<TestLab> lab_;  // null on loopback
  experiments::Sites sites_;
  bool links_differ_ = false;
};

}  // namespace

absl::Status RunPushPullRounds(const PushPullRoundsOptions& options,
                               experiments::SignalWaiter& signals, Clock& clock) {
  return Rounds(options, signals, clock).Run();
}

}  // namespace crossover::bench
