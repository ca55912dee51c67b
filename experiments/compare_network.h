// Where a comparison's processes will run: this machine's loopback or an interface of it,
// or the network lab.
#ifndef CROSSOVER_EXPERIMENTS_COMPARE_NETWORK_H_
#define CROSSOVER_EXPERIMENTS_COMPARE_NETWORK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "experiments/compare_arguments.h"
#include "experiments/comparison.h"
#include "experiments/lab_session.h"
#include "experiments/progress.h"
#include "experiments/signal_waiter.h"

namespace crossover::experiments {

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
