// A namespace's default TCP congestion control. Stateless.
#ifndef CROSSOVER_LAB_CONGESTION_CONTROL_H_
#define CROSSOVER_LAB_CONGESTION_CONTROL_H_

#include <string>

#include "absl/status/status.h"

namespace crossover::lab {

// Linux lets a namespace choose only among net.ipv4.tcp_allowed_congestion_control, which
// is the whole host's: where that lacks `name`, it is added for the moment of the choice.
// Needs root. Errors say what the kernel has.
absl::Status SetCongestionControl(const std::string& network_namespace, const std::string& name);

// Whether the kernel has it: asks it with a socket that is thrown away. Of a module that is not
// loaded only root is told, for whom the kernel loads it. Errors say what the kernel has.
absl::Status CheckCongestionControl(const std::string& name);

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_CONGESTION_CONTROL_H_
