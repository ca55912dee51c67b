// Runs the programs that time other libraries (bench/peers) beside ours: which there are, and one
// of them from start to end.
#ifndef CROSSOVER_BENCH_COMM_PEERS_H_
#define CROSSOVER_BENCH_COMM_PEERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/comm/record.h"
#include "bench/comm/test_plan.h"
#include "core/clock.h"
#include "experiments/launch/signal_waiter.h"
#include "experiments/launch/site.h"

namespace crossover::bench {

// What one start of a peer's processes times.
struct PeerRun {
  std::string library;     // "gloo", "openmpi"
  std::string transport;   // "tcp", "shared_memory"
  std::string algorithms;  // gloo: a list; openmpi: one
};

// Gloo's ring, ring_chunked, halving_doubling and bcube over TCP; Open MPI's default,
// recursive_doubling, ring, segmented_ring and rabenseifner over each of the transports. `wanted`:
// "true" for all, or libraries between commas. Errors: an unknown one, or none that could run.
absl::StatusOr<std::vector<PeerRun>> PeerRuns(const std::string& wanted,
                                              const std::vector<std::string>& transports);

// Only fp32 sums of AllReduce stand beside ours. Errors say which flag does not fit.
absl::Status CheckComparable(const TestPlan& plan);

struct PeerOptions {
  TestPlan plan;
  int ranks = 2;
  std::string programs;                  // the folder that bench/peers/build has filled
  std::string directory;                 // for logs; exists
  std::vector<experiments::Site> sites;  // rank r is at [r modulo size]
  std::vector<std::string> node_names;   // in the lab, beside the sites; else empty
  double time_s = 600;
};

// Builds them by bench/peers/build of this source tree's, or as `bazel run` finds it. Blocks for
// some seconds. What is missing is left out and said by `say`.
absl::Status BuildPeers(const std::string& programs, const std::string& directory,
                        experiments::SignalWaiter& signals, Clock& clock, std::string& said);
// Whether the library's program was built.
bool PeerIsBuilt(const std::string& programs, const std::string& library);

// Blocks to the end; then all of its processes have ended. Errors name the library and the rank.
absl::StatusOr<std::vector<Record>> RunPeer(const PeerRun& run, const PeerOptions& options,
                                            experiments::SignalWaiter& signals, Clock& clock);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_PEERS_H_
