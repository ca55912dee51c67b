// The network lab of a benchmark: brought up for its processes, probed, and their places in it.
#ifndef CROSSOVER_BENCH_SHARED_TEST_LAB_H_
#define CROSSOVER_BENCH_SHARED_TEST_LAB_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/launch/signal_waiter.h"
#include "experiments/launch/site.h"
#include "lab/namespaces.h"
#include "lab/network_lab.h"
#include "lab/probe_result.h"

namespace crossover::bench {

// While it exists the calling thread, and what it starts, is in the lab's control node, which
// reaches all others. Belongs to the main thread.
struct TestLab {
  std::unique_ptr<lab::NetworkLab> network;
  std::optional<lab::ScopedNamespace> control;  // left before the lab goes down
  experiments::Sites sites;                     // without nodes for servers these are workers'
  std::vector<std::string> worker_nodes;        // names
  lab::ProbeResult probe;
};

struct TestLabOptions {
  std::string network;  // the lab's spec (lab/network_spec.h)
  int worker_nodes = 1;
  int server_nodes = 0;
  int workers_per_node = 1;                     // neighbours by rank
  std::string congestion_control;               // "": the lab's default
  std::function<void(const std::string&)> say;  // what is under way, a line each
};

// Blocks for some seconds. Errors: --network's text, or what this machine cannot do; CANCELLED
// after a signal. Nothing of the lab remains then.
absl::StatusOr<std::unique_ptr<TestLab>> BringUpLab(const TestLabOptions& options,
                                                    experiments::SignalWaiter& signals);

// Whether --network names a lab: neither "" nor "loopback".
bool NamesLab(const std::string& network);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_SHARED_TEST_LAB_H_
