#include "bench/shared/test_lab.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "lab/network_spec.h"
#include "lab/probe.h"
#include "os/files.h"

namespace crossover::bench {
namespace {

void Place(const TestLabOptions& options, TestLab& lab) {
  lab.sites.launcher.address = lab.network->control().address;
  lab.sites.workers.clear();
  std::vector<experiments::Site> servers;
  for (const lab::Node& node : lab.network->nodes()) {
    experiments::Site site;
    site.node = node.name;
    site.address = node.address;
    site.network_namespace = node.network_namespace;
    if (node.role == "server") {
      servers.push_back(site);
      continue;
    }
    lab.sites.workers.insert(lab.sites.workers.end(), static_cast<size_t>(options.workers_per_node),
                             site);
    lab.worker_nodes.push_back(node.name);
  }
  lab.sites.servers = servers.empty() ? lab.sites.workers : servers;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TestLab>> BringUpLab(const TestLabOptions& options,
                                                    experiments::SignalWaiter& signals) {
  auto up = std::make_unique<TestLab>();
  const auto cancelled = [&signals] {
    signals.Wait(0);
    return signals.ended_by() != 0;
  };
  const absl::StatusOr<lab::NetworkSpec> spec = lab::ParseNetworkSpec(options.network);
  RETURN_IF_ERROR(Annotate(spec.status(), "--network: "));
  lab::LabOptions lab_options;
  lab_options.network = *spec;
  lab_options.nodes = lab::WorkersAndServers(options.worker_nodes, options.server_nodes);
  if (!options.congestion_control.empty()) {
    lab_options.congestion_control = options.congestion_control;
  }
  lab_options.switch_binary = os::SiblingBinary("lab/switch");
  lab_options.keeper_binary = os::SiblingBinary("lab/keeper");
  lab_options.cancelled = cancelled;
  ASSIGN_OR_RETURN(up->network, lab::NetworkLab::Up(lab_options));
  options.say(absl::StrCat("network lab: ", up->network->Describe(), "; probing it"));
  lab::ProbeOptions probe_options;
  probe_options.cancelled = cancelled;
  ASSIGN_OR_RETURN(up->probe, lab::ProbeLab(*up->network, probe_options));
  RETURN_IF_ERROR(lab::CheckProbe(up->probe));
  Place(options, *up);
  ASSIGN_OR_RETURN(lab::ScopedNamespace control,
                   lab::ScopedNamespace::Enter(up->network->control().network_namespace));
  up->control.emplace(std::move(control));
  return up;
}

bool NamesLab(const std::string& network) { return !network.empty() && network != "loopback"; }

}  // namespace crossover::bench
