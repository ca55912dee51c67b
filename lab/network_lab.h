// Makes one Linux machine behave like a cluster: each node is a network namespace with an
// address of its own, and the links between them have the rate, delay, queue and loss of a
// NetworkSpec (docs/NETWORK_LAB.md). Needs root, iproute2, and either tbf in the kernel or
// /dev/net/tun.
//
// Nodes are 10.77.0.1 upwards in 10.77.0.0/24, which collides with nothing: a namespace has
// no other routes, and the host has none into it. Beside the nodes stands "control", whose
// link is not limited, for a launcher that all of them have to reach.
//
// Start a process in a node by holding a ScopedNamespace (lab/namespaces.h) of its
// network_namespace while forking; end the processes before Down.
//
// Not thread-safe; everything blocks, Up for a second or so.
#ifndef CROSSOVER_LAB_NETWORK_LAB_H_
#define CROSSOVER_LAB_NETWORK_LAB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lab/keeper_process.h"
#include "lab/network_spec.h"
#include "lab/switch_process.h"

namespace crossover::lab {

enum class LabKind {
  kAuto,    // kernel qdiscs where they can do what is asked, else the switch
  kKernel,  // bridge and tbf, and netem for a delay
  kSwitch,  // the project's own, over TAP devices
};
// "kernel qdiscs", "user-space switch"
std::string LabKindText(LabKind kind);

struct NodeOptions {
  std::string name;  // lower-case letters, digits and -; not control, bridge or features
  std::string role;  // chooses the link: "worker" or "server"; others are not limited
};

struct LabOptions {
  NetworkSpec network;  // not shaped: unlimited links
  std::vector<NodeOptions> nodes;
  LabKind kind = LabKind::kAuto;
  bool need_loss_control = false;  // SetLoss will be called
  std::string congestion_control = "cubic";
  std::string switch_binary;  // //lab:switch
  // //lab:keeper, which removes the lab should this process be killed; "": the next lab
  // of anyone does.
  std::string keeper_binary;
  std::string label;  // tells labs of one process apart
  uint64_t loss_seed = 1;
  // Asked between steps: true makes Up take everything down and return Cancelled.
  std::function<bool()> cancelled;
};

struct Node {
  std::string name;
  std::string role;
  std::string network_namespace;
  std::string address;  // without the prefix length
  LinkSpec link;
};

// worker0.. and server0.., with their roles.
std::vector<NodeOptions> WorkersAndServers(int workers, int servers);

class NetworkLab {
 public:
  // Removes what killed processes left first. On an error nothing of the lab remains.
  static absl::StatusOr<std::unique_ptr<NetworkLab>> Up(const LabOptions& options);
  ~NetworkLab();
  NetworkLab(const NetworkLab&) = delete;
  NetworkLab& operator=(const NetworkLab&) = delete;

  // Removes the namespaces and ends the switch; a second call does nothing.
  absl::Status Down();

  const std::vector<Node>& nodes() const { return nodes_; }  // in the order given
  const Node& control() const { return control_; }
  const Node* Find(const std::string& name) const;  // control too; null if there is none
  const NetworkSpec& network() const { return options_.network; }
  LabKind kind() const { return kind_; }  // kKernel or kSwitch
  const std::string& congestion_control() const { return options_.congestion_control; }
  // "4 nodes and control at 1gbit: kernel qdiscs, cubic".
  std::string Describe() const;

  // From now on nothing passes from or to the node; its device stays up.
  absl::Status CutLink(const std::string& node);
  absl::Status RestoreLink(const std::string& node);
  // Of the frames from and to the node, in place of the spec's. FailedPrecondition unless
  // the lab is a switch (need_loss_control).
  absl::Status SetLoss(const std::string& node, double fraction);
  // What the switch counted, for the curious; "" without one.
  std::string SwitchStatistics();

 private:
  explicit NetworkLab(LabOptions options);
  absl::Status Build();
  absl::Status ChooseKind();
  absl::Status MakeNamespaces();
  absl::Status Connect();
  absl::Status ConfigureNode(const Node& node, int port);
  absl::Status MakeNamespace(const std::string& name);
  absl::Status CheckCancelled() const;
  absl::StatusOr<int> PortOf(const std::string& node) const;
  absl::Status SetCut(const std::string& node, bool cut);
  std::string NameOf(const std::string& node) const;

  const LabOptions options_;
  LabKind kind_ = LabKind::kAuto;
  bool has_tbf_ = false;
  std::vector<Node> nodes_;
  Node control_;  // on the port after the nodes'
  std::vector<std::string> namespaces_;
  std::unique_ptr<KeeperProcess> keeper_;
  std::unique_ptr<SwitchProcess> switch_;
};

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_NETWORK_LAB_H_
