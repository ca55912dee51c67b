// A port of the user-space switch. Shared by the switch and by what starts it.
#ifndef CROSSOVER_LAB_SWITCH_PORT_H_
#define CROSSOVER_LAB_SWITCH_PORT_H_

#include <string>

#include "absl/strings/str_format.h"
#include "lab/network_spec.h"

namespace crossover::lab {

struct SwitchPort {
  std::string name;
  std::string network_namespace;  // where its device "eth0" is made
  LinkSpec link;
};

// "02:78:6f:00:00:01" for port 0.
inline std::string PortMac(int port) {
  return absl::StrFormat("02:78:6f:00:%02x:%02x", (port + 1) >> 8, (port + 1) & 255);
}

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_SWITCH_PORT_H_
