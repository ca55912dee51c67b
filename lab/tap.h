// A TAP device in a network namespace: the node sees an Ethernet interface, this program
// reads what it sends and writes what it receives. Packets begin with a 10-byte
// virtio-net header; TCP over IPv4 and IPv6 comes in super-frames (lab/segmentation.h).
#ifndef CROSSOVER_LAB_TAP_H_
#define CROSSOVER_LAB_TAP_H_

#include <string>

#include "absl/status/statusor.h"
#include "os/unique_fd.h"

namespace crossover::lab {

// Makes `device` ("eth0") in the namespace. The descriptor is non-blocking; the device
// goes when it is closed. Errors say what is missing (root, /dev/net/tun).
absl::StatusOr<os::UniqueFd> OpenTap(const std::string& network_namespace,
                                     const std::string& device);

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_TAP_H_
