#include "experiments/lab_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/emulation.h"
#include "core/job.h"
#include "core/status.h"
#include "experiments/results/scale_back.h"
#include "lab/probe.h"

namespace crossover::experiments {
namespace {

Site SiteAt(const lab::Node& node) {
  return {.node = node.name, .address = node.address, .network_namespace = node.network_namespace};
}

// Nodes for the run that needs most: colocated servers need none of their own.
std::vector<lab::NodeOptions> NodesFor(const std::vector<PlannedRun>& runs) {
  int workers = 1, servers = 0;
  for (const PlannedRun& run : runs) {
    workers = std::max(workers, WorkerProcesses(run.job));
    const bool own = run.job.comparison().placement() == proto::Comparison::dedicated;
    if (own && UsesServers(run.job)) servers = std::max(servers, run.job.servers());
  }
  return lab::WorkersAndServers(workers, servers);
}

}  // namespace

Sites SitesInLab(const lab::NetworkLab& lab, proto::Comparison::Placement placement) {
  std::vector<Site> workers, servers;
  for (const lab::Node& node : lab.nodes()) {
    (node.role == "server" ? servers : workers).push_back(SiteAt(node));
  }
  return PlaceOnNodes(SiteAt(lab.control()), std::move(workers), std::move(servers), placement);
}

std::vector<ProbedNode> ProbedNodes(const lab::ProbeResult& probe, const Scales& scales) {
  const double rate = scales.time * scales.bytes;
  std::vector<ProbedNode> nodes;
  for (const lab::ProbedNode& node : probe.nodes) {
    nodes.push_back({.name = node.name,
                     .send_bytes_per_s = node.send_bytes_per_s * rate,
                     .receive_bytes_per_s = node.receive_bytes_per_s * rate,
                     .promised_bytes_per_s = node.promised_send_bytes_per_s * rate,
                     .rtt_us = node.rtt_us_median / scales.time});
  }
  return nodes;
}

absl::StatusOr<std::unique_ptr<LabSession>> LabSession::Start(const LabSessionOptions& options) {
  const proto::Job& job = options.runs.front().job;
  const Scales scales = ScalesOf(job);
  lab::LabOptions lab;
  lab.network = options.choice.spec.Scaled(scales.time, scales.bytes);
  lab.nodes = NodesFor(options.runs);
  lab.congestion_control = job.comparison().congestion_control();
  lab.switch_binary = options.switch_binary;
  lab.keeper_binary = options.keeper_binary;
  lab.cancelled = options.cancelled;
  lab::ProbeOptions probe;
  probe.cancelled = options.cancelled;
  if (IsEmulated(job)) {
    lab.label = "unshaped";
    ASSIGN_OR_RETURN(const lab::ProbeResult unshaped, lab::ProbeUnshaped(lab, probe));
    RETURN_IF_ERROR(CheckEmulatedTraffic(job, lab.network, lab::TotalBytesPerS(unshaped)));
    lab.label = "";
  }
  ASSIGN_OR_RETURN(std::unique_ptr<lab::NetworkLab> network_lab, lab::NetworkLab::Up(lab));
  options.say(absl::StrCat("network lab: ", network_lab->Describe(), "; probing it"));
  ASSIGN_OR_RETURN(const lab::ProbeResult found, lab::ProbeLab(*network_lab, probe));
  RETURN_IF_ERROR(lab::CheckProbe(found));
  ASSIGN_OR_RETURN(lab::ScopedNamespace control,
                   lab::ScopedNamespace::Enter(network_lab->control().network_namespace));
  std::unique_ptr<LabSession> session(new LabSession(std::move(network_lab), std::move(control)));
  session->Describe(job, options.choice);
  session->network_.probe = ProbedNodes(found, scales);
  return session;
}

void LabSession::Describe(const proto::Job& job, const NetworkChoice& choice) {
  const proto::Comparison::Placement placement = job.comparison().placement();
  sites_ = SitesInLab(*lab_, placement);
  network_.interface = "network namespaces";
  network_.loopback = false;
  network_.kind = absl::StrCat("lab: ", lab::LabKindText(lab_->kind()));
  network_.shaping = lab::NetworkSpecText(choice.spec);
  network_.congestion_control = lab_->congestion_control();
  network_.placement = proto::Comparison::Placement_Name(placement);
}

}  // namespace crossover::experiments
