// The network lab of one comparison: brought up and probed before the first run, taken
// down in every end (docs/NETWORK_LAB.md).
#ifndef CROSSOVER_EXPERIMENTS_LAB_SESSION_H_
#define CROSSOVER_EXPERIMENTS_LAB_SESSION_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/launch/site.h"
#include "experiments/network_choice.h"
#include "experiments/results/result.h"
#include "experiments/run_plan.h"
#include "lab/namespaces.h"
#include "lab/network_lab.h"
#include "lab/probe_result.h"
#include "proto/job.pb.h"

namespace crossover::experiments {

// The probe's figures as results hold them: of the network that is imitated, so an
// emulated job's scales are taken out again. Pure.
std::vector<ProbedNode> ProbedNodes(const lab::ProbeResult& probe, const Scales& scales);

// Where the processes of a run live in the lab, its launcher in the control node. Pure.
Sites SitesInLab(const lab::NetworkLab& lab, proto::Comparison::Placement placement);

struct LabSessionOptions {
  std::vector<PlannedRun> runs;  // of one network; the most workers and servers count
  NetworkChoice choice;
  std::string switch_binary;
  std::string keeper_binary;
  std::function<bool()> cancelled;              // asked while it comes up: true ends it
  std::function<void(const std::string&)> say;  // what is under way, a line each
};

// While it exists the calling thread, and what it starts, is in the lab's control node,
// which reaches all others. Belongs to the launcher's main thread.
class LabSession {
 public:
  // Blocks for some seconds. Errors: this machine cannot make such a network (with what it
  // can do); CANCELLED. Nothing of the lab remains then.
  static absl::StatusOr<std::unique_ptr<LabSession>> Start(const LabSessionOptions& options);

  const Sites& sites() const { return sites_; }
  const Network& network() const { return network_; }

 private:
  LabSession(std::unique_ptr<lab::NetworkLab> lab, lab::ScopedNamespace control)
      : lab_(std::move(lab)), control_(std::move(control)) {}
  void Describe(const proto::Job& job, const NetworkChoice& choice);

  std::unique_ptr<lab::NetworkLab> lab_;
  lab::ScopedNamespace control_;  // left before the lab goes down
  Sites sites_;
  Network network_;
};

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_LAB_SESSION_H_
