// The lab's links made of what the kernel has: a bridge, veth pairs, and on both ends of
// each pair a token bucket (tbf) at the link's rate, with netem beneath the node's one
// where there is a delay. Needs root. Blocking; errors carry what ip and tc said.
#ifndef CROSSOVER_LAB_KERNEL_LINKS_H_
#define CROSSOVER_LAB_KERNEL_LINKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lab/switch_port.h"

namespace crossover::lab {

struct KernelQdiscs {
  bool tbf = false;
  bool netem = false;
};

// Tries them in the namespace `scratch`, which it makes and deletes.
absl::StatusOr<KernelQdiscs> FindKernelQdiscs(const std::string& scratch);

// Makes the bridge in bridge_namespace (which exists) and "eth0" in each port's
// namespace. Loss is not imitated: netem would drop whole super-frames.
absl::Status ConnectByBridge(const std::string& bridge_namespace,
                             const std::vector<SwitchPort>& ports, int64_t super_frame_bytes);

// A token bucket at a TAP device's sending side, for the links of the user-space switch.
// The switch keeps the rate by itself, but a TAP device takes packets from TCP's account as
// soon as it queues them, so TCP would fill it with megabytes that every acknowledgement
// waits behind; what waits in a token bucket is still TCP's. Links without a rate have none.
absl::Status HoldBackSender(const SwitchPort& port, int64_t super_frame_bytes);

// While cut, the bridge drops every frame from and to the port; the node sees no loss of
// carrier, as behind a switch. (A bridge port that is merely set to "disabled" goes back to
// forwarding by itself.)
absl::Status SetBridgePortCut(const std::string& bridge_namespace, int port, bool cut);

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_KERNEL_LINKS_H_
