// What a probe of the lab found, and whether the lab keeps what its spec promises. Pure.
#ifndef CROSSOVER_LAB_PROBE_RESULT_H_
#define CROSSOVER_LAB_PROBE_RESULT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace crossover::lab {

// Rates are of TCP payload, all nodes at once in both directions, counted where it was
// received. A promise of 0 is none.
struct ProbedNode {
  std::string name;
  double send_bytes_per_s = 0;
  double receive_bytes_per_s = 0;
  double promised_send_bytes_per_s = 0;
  double promised_receive_bytes_per_s = 0;
  int64_t retransmitted_segments = 0;  // by the node, while the rates were measured
  // 64 bytes there and back to the next node (name), while nothing else was sent.
  std::string next;
  double rtt_us_min = 0;
  double rtt_us_median = 0;
  double promised_rtt_us = 0;  // at least: the two links' delays
};

struct ProbeResult {
  std::string lab;  // NetworkLab::Describe
  double seconds = 0;
  std::vector<ProbedNode> nodes;
};

// Of all nodes together: what the machine moved.
double TotalBytesPerS(const ProbeResult& result);

// FailedPrecondition, with what the machine can do, if a rate is more than 2% off its
// promise (above it too: then the limit does not work).
absl::Status CheckRates(const ProbeResult& result);
// The same, and also if the shortest round trip is more than 2% below its promise, or more
// than 2% and 1 ms above it.
absl::Status CheckProbe(const ProbeResult& result);

// A line a node.
std::string ProbeText(const ProbeResult& result);

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_PROBE_RESULT_H_
