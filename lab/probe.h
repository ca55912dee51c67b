// Measures a lab before it is used: all nodes at once in both directions, since one pair
// alone proves nothing of a machine that carries them all; and idle round trips.
//
// One process opens sockets in every node's namespace and moves real bytes, copied as a
// program's would be. Not thread-safe; blocks for some seconds.
#ifndef CROSSOVER_LAB_PROBE_H_
#define CROSSOVER_LAB_PROBE_H_

#include <functional>

#include "absl/status/statusor.h"
#include "lab/network_lab.h"
#include "lab/probe_result.h"

namespace crossover::lab {

struct ProbeOptions {
  double seconds = 1.5;  // of the steady part, after slow start; longer below 15 Mbit/s
  int round_trips = 30;  // for each node
  std::function<bool()> cancelled;
};

// Losses are off meanwhile (they would measure TCP's answer, not the links) and back at the
// end. Cancelled if `cancelled` said so. A rate that is not kept is CheckProbe's to judge.
absl::StatusOr<ProbeResult> ProbeLab(NetworkLab& lab, const ProbeOptions& options);

// What the same nodes reach over the same kind of links without limits or delay: the
// machine's own bound. Brings a lab of its own up and takes it down, beside one that is up
// already if `options.label` differs from its.
absl::StatusOr<ProbeResult> ProbeUnshaped(LabOptions options, const ProbeOptions& probe_options);

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_PROBE_H_
