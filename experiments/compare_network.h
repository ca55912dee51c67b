// Where a comparison's processes will run: this machine's loopback or an interface of it,
// or the network lab.
#ifndef CROSSOVER_EXPERIMENTS_COMPARE_NETWORK_H_
#define CROSSOVER_EXPERIMENTS_COMPARE_NETWORK_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/compare_arguments.h"
#include "experiments/comparison.h"
#include "experiments/lab_session.h"
#include "experiments/launch/signal_waiter.h"
#include "experiments/progress.h"
#include "experiments/run_plan.h"

namespace crossover::experiments {

// Of all jobs: whether comparison.network is a network, and goes with the arguments, and whether
// the kernel has the congestion control of the lab that it means.
absl::Status CheckNetworkWords(const Arguments& arguments, const std::vector<PlannedRun>& runs);

// Sets `options.sites` and `options.network` by the runs' job and the arguments, and says
// which it became. A lab lives as long as what is returned (null without one) and is
// probed already; the default one gives way to slower ones, and to loopback, where this
// machine cannot make it; one that was asked for, or that an emulated job would run on, is an
// error then. Blocks for some seconds; CANCELLED after a signal.
absl::StatusOr<std::unique_ptr<LabSession>> SetUpNetwork(const Arguments& arguments,
                                                         SignalWaiter& signals,
                                                         ProgressPrinter& progress,
                                                         ComparisonOptions& options);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_COMPARE_NETWORK_H_
