#include "lab/network_lab.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status.h"
#include "lab/command.h"
#include "lab/congestion_control.h"
#include "lab/kernel_links.h"
#include "lab/namespaces.h"

namespace crossover::lab {
namespace {

constexpr size_t kNodesMax = 250;  // addresses of a /24
constexpr const char* kControl = "control";
constexpr const char* kBridge = "bridge";
constexpr const char* kFeatures = "features";

bool IsSpelled(const std::string& name) {
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

absl::Status CheckOptions(const LabOptions& options) {
  if (geteuid() != 0) {
    return absl::PermissionDeniedError(
        "the network lab makes network namespaces, which needs root: run as root, or with "
        "--network=loopback");
  }
  if (options.nodes.empty() || options.nodes.size() > kNodesMax) {
    return absl::InvalidArgumentError(absl::StrCat("the network lab has ", options.nodes.size(),
                                                   " nodes; allowed: 1 to ", kNodesMax));
  }
  if (!options.label.empty() && !IsSpelled(options.label)) {
    return absl::InvalidArgumentError(absl::StrCat("the network lab's label '", options.label,
                                                   "' is not lower-case letters, digits and -"));
  }
  std::set<std::string> names = {kControl, kBridge, kFeatures};
  for (const NodeOptions& node : options.nodes) {
    if (!IsSpelled(node.name) || !names.insert(node.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("the network lab cannot have a node '", node.name,
                       "'; allowed: lower-case letters, digits and -, each name once, not ",
                       kControl, ", ", kBridge, " or ", kFeatures));
    }
  }
  return absl::OkStatus();
}

// Bytes of TCP payload in a super-frame: 125 us of the slowest link, so that few of them
// share it finely, but at least 16 KiB, or acknowledgements would cost the way back a lot.
int64_t SuperFrameBytes(const std::vector<Node>& nodes) {
  constexpr double kLongestS = 125e-6;
  int64_t bytes = 65536;
  for (const Node& node : nodes) {
    if (node.link.rate_bits_per_s <= 0) continue;
    bytes = std::min<int64_t>(bytes, std::llround(node.link.rate_bits_per_s / 8 * kLongestS));
  }
  return std::max<int64_t>(bytes, 16384);
}

}  // namespace

std::string LabKindText(LabKind kind) {
  switch (kind) {
    case LabKind::kKernel:
      return "kernel qdiscs";
    case LabKind::kSwitch:
      return "user-space switch";
    case LabKind::kAuto:
      break;
  }
  return "chosen by what the kernel has";
}

std::vector<NodeOptions> WorkersAndServers(int workers, int servers) {
  std::vector<NodeOptions> nodes;
  for (int i = 0; i < workers; ++i) nodes.push_back({absl::StrCat("worker", i), "worker"});
  for (int i = 0; i < servers; ++i) nodes.push_back({absl::StrCat("server", i), "server"});
  return nodes;
}

absl::StatusOr<std::unique_ptr<NetworkLab>> NetworkLab::Up(const LabOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  RETURN_IF_ERROR(RemoveLeftovers().status());
  std::unique_ptr<NetworkLab> lab(new NetworkLab(options));
  RETURN_IF_ERROR(Annotate(lab->Build(), "network lab: "));
  return lab;
}

NetworkLab::NetworkLab(LabOptions options) : options_(std::move(options)) {
  int last_byte = 0;
  const auto make = [&](const std::string& name, const std::string& role) {
    return Node{.name = name,
                .role = role,
                .network_namespace = NameOf(name),
                .address = absl::StrCat("10.77.0.", ++last_byte),
                .link = options_.network.LinkOf(role)};
  };
  for (const NodeOptions& node : options_.nodes) nodes_.push_back(make(node.name, node.role));
  control_ = make(kControl, kControl);
}

// Nothing is left to tell an error to; Down by hand tells it.
NetworkLab::~NetworkLab() { Down().IgnoreError(); }

absl::Status NetworkLab::Down() {
  switch_.reset();
  absl::Status first_error;
  for (const std::string& name : std::exchange(namespaces_, {})) {
    first_error.Update(DeleteNamespace(name));
  }
  keeper_.reset();
  return Annotate(first_error, "network lab: cannot take everything down: ");
}

std::string NetworkLab::NameOf(const std::string& node) const {
  return NamespaceName(getpid(), options_.label, node);
}

absl::Status NetworkLab::CheckCancelled() const {
  if (!options_.cancelled || !options_.cancelled()) return absl::OkStatus();
  return absl::CancelledError("stopped while it was being set up");
}

absl::Status NetworkLab::MakeNamespace(const std::string& name) {
  RETURN_IF_ERROR(CheckCancelled());
  RETURN_IF_ERROR(AddNamespace(name));
  namespaces_.push_back(name);
  return absl::OkStatus();
}

absl::Status NetworkLab::Build() {
  if (!options_.keeper_binary.empty()) {
    ASSIGN_OR_RETURN(keeper_, KeeperProcess::Start(options_.keeper_binary));
  }
  RETURN_IF_ERROR(ChooseKind());
  RETURN_IF_ERROR(MakeNamespaces());
  RETURN_IF_ERROR(Connect());
  for (int port = 0; port < static_cast<int>(nodes_.size()); ++port) {
    RETURN_IF_ERROR(ConfigureNode(nodes_[port], port));
  }
  return ConfigureNode(control_, static_cast<int>(nodes_.size()));
}

absl::Status NetworkLab::ChooseKind() {
  const NetworkSpec& network = options_.network;
  kind_ = LabKind::kSwitch;
  ASSIGN_OR_RETURN(const KernelQdiscs has, FindKernelQdiscs(NameOf(kFeatures)));
  has_tbf_ = has.tbf;
  if (options_.kind == LabKind::kSwitch) return absl::OkStatus();
  std::string reason;
  if (options_.need_loss_control || network.loss_fraction() > 0) {
    reason = "loss needs the user-space switch";
  } else if (network.shaped() && !has.tbf) {
    reason = "this kernel has no tbf";
  } else if (network.delay_us() > 0 && !has.netem) {
    reason = "this kernel has no netem";
  } else {
    kind_ = LabKind::kKernel;
  }
  if (options_.kind == LabKind::kAuto || reason.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("kernel qdiscs cannot imitate ", NetworkSpecText(network), ": ", reason));
}

absl::Status NetworkLab::MakeNamespaces() {
  std::vector<std::string> names;
  for (const Node& node : nodes_) names.push_back(node.network_namespace);
  names.push_back(control_.network_namespace);
  if (kind_ == LabKind::kKernel) names.push_back(NameOf(kBridge));
  for (const std::string& name : names) {
    RETURN_IF_ERROR(MakeNamespace(name));
    // IPv6 would only chat about neighbours. A kernel without it has no such setting.
    if (std::filesystem::exists("/proc/sys/net/ipv6/conf/default/disable_ipv6")) {
      RETURN_IF_ERROR(SetNetworkSetting(name, "ipv6/conf/all/disable_ipv6", "1"));
      RETURN_IF_ERROR(SetNetworkSetting(name, "ipv6/conf/default/disable_ipv6", "1"));
    }
    RETURN_IF_ERROR(SetCongestionControl(name, options_.congestion_control));
    // A run must not start with what the probe, or the run before, learnt of a path.
    RETURN_IF_ERROR(SetNetworkSetting(name, "ipv4/tcp_no_metrics_save", "1"));
  }
  return absl::OkStatus();
}

absl::Status NetworkLab::Connect() {
  RETURN_IF_ERROR(CheckCancelled());
  std::vector<SwitchPort> ports;
  for (const Node& node : nodes_) ports.push_back({node.name, node.network_namespace, node.link});
  ports.push_back({control_.name, control_.network_namespace, control_.link});
  if (kind_ == LabKind::kKernel) {
    return ConnectByBridge(NameOf(kBridge), ports, SuperFrameBytes(nodes_));
  }
  ASSIGN_OR_RETURN(switch_,
                   SwitchProcess::Start(options_.switch_binary, ports, options_.loss_seed));
  for (const SwitchPort& port : ports) {
    if (has_tbf_) RETURN_IF_ERROR(HoldBackSender(port, SuperFrameBytes(nodes_)));
  }
  return absl::OkStatus();
}

absl::Status NetworkLab::ConfigureNode(const Node& node, int port) {
  RETURN_IF_ERROR(CheckCancelled());
  const std::string commands = absl::StrFormat(
      "link set lo up\n"
      "link set eth0 address %s gso_max_size %d\n"
      "addr add %s/24 dev eth0\n"
      "link set eth0 up\n",
      PortMac(port), SuperFrameBytes(nodes_), node.address);
  return RunCommand({"ip", "-n", node.network_namespace, "-batch", "-"}, commands).status();
}

const Node* NetworkLab::Find(const std::string& name) const {
  if (name == control_.name) return &control_;
  const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&](const Node& node) { return node.name == name; });
  return found == nodes_.end() ? nullptr : &*found;
}

absl::StatusOr<int> NetworkLab::PortOf(const std::string& name) const {
  const Node* node = Find(name);
  if (node == nullptr) {
    return absl::NotFoundError(absl::StrCat("network lab: no node is called '", name, "'"));
  }
  return node == &control_ ? static_cast<int>(nodes_.size())
                           : static_cast<int>(node - nodes_.data());
}

std::string NetworkLab::Describe() const {
  return absl::StrCat(nodes_.size(), " nodes and control at ",
                      options_.network.shaped() ? NetworkSpecText(options_.network) : "no limit",
                      ": ", LabKindText(kind_), ", ", options_.congestion_control);
}

absl::Status NetworkLab::SetCut(const std::string& node, bool cut) {
  ASSIGN_OR_RETURN(const int port, PortOf(node));
  if (switch_ != nullptr) {
    return switch_->Command(absl::StrCat(cut ? "cut " : "restore ", node)).status();
  }
  return SetBridgePortCut(NameOf(kBridge), port, cut);
}

absl::Status NetworkLab::CutLink(const std::string& node) { return SetCut(node, true); }

absl::Status NetworkLab::RestoreLink(const std::string& node) { return SetCut(node, false); }

absl::Status NetworkLab::SetLoss(const std::string& node, double fraction) {
  RETURN_IF_ERROR(PortOf(node).status());
  if (switch_ == nullptr) {
    return absl::FailedPreconditionError(
        "network lab: loss needs the user-space switch; bring the lab up with need_loss_control");
  }
  return switch_->Command(absl::StrFormat("loss %s %.9g%%", node, 100 * fraction)).status();
}

std::string NetworkLab::SwitchStatistics() {
  if (switch_ == nullptr) return "";
  return switch_->Command("stats").value_or("");
}

}  // namespace crossover::lab
