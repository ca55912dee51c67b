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

// While cut, the bridge drops every frame from and to the port; the node sees no loss of
// carrier, as behind a switch.
absl::Status SetBridgePortCut(const std::string& bridge_namespace, int port, bool cut);

// The token bucket's size in bytes: one super-frame, and what a timer's lateness of
// 100 us would cost. After a silence so much leaves at once.
int64_t BucketBytes(double rate_bits_per_s, int64_t super_frame_bytes);

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_KERNEL_LINKS_H_
