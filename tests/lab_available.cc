#include "tests/lab_available.h"

#include <unistd.h>

#include "lab/network_lab.h"

namespace crossover::tests {

std::string WhyNoLab() {
  if (geteuid() != 0) return "a network lab needs root";
  lab::LabOptions options;
  options.nodes = lab::WorkersAndServers(1, 0);
  options.switch_binary = "lab/switch";
  return std::string(lab::NetworkLab::Up(options).status().message());
}

}  // namespace crossover::tests
