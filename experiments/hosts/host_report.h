// What the checks of the hosts found, as a text for the terminal and as results hold it.
// Pure; thread-safe.
#ifndef CROSSOVER_EXPERIMENTS_HOSTS_HOST_REPORT_H_
#define CROSSOVER_EXPERIMENTS_HOSTS_HOST_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/hosts/pair_probe.h"
#include "experiments/results/result.h"

namespace crossover::experiments {

struct HostFacts {
  std::string name;
  std::vector<std::string> processes;  // "worker 0"
  std::string address;                 // where they listen
  std::string choice;                  // "10.0.0.1 (eth0): the address that ssh reached"
  std::string hostname;
  std::string kernel;
  int64_t cores = 0;
  double clock_offset_s = 0;  // its time of day less the launcher's
  double clock_error_s = 0;   // at most: half the round trip
};

// One direction between two hosts, indices of facts. `alone`: nothing else was sent; in
// `together` every host sends to the next and receives at once.
struct PairResult {
  int from = 0;
  int to = 0;
  PairFigures alone;
};

struct HostsReport {
  std::vector<HostFacts> hosts;
  std::vector<PairResult> pairs;             // both directions of each
  std::vector<double> together_bytes_per_s;  // host i to host i + 1 modulo hosts; empty for one
};

// A line a host, a line a pair.
std::string HostsText(const HostsReport& report);

// Whose clock differs by more than a minute: dates in its logs are not the launcher's. A
// line each; measurements do not depend on it (clocks are aligned at the rendezvous).
std::vector<std::string> ClockWarnings(const HostsReport& report);

Network NetworkOfHosts(const HostsReport& report);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HOSTS_HOST_REPORT_H_
