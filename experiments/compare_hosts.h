// A comparison on other hosts: `--hosts` and what belongs to it.
#ifndef CROSSOVER_EXPERIMENTS_COMPARE_HOSTS_H_
#define CROSSOVER_EXPERIMENTS_COMPARE_HOSTS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/clock.h"
#include "experiments/compare_arguments.h"
#include "experiments/comparison.h"
#include "experiments/hosts/host_file.h"
#include "experiments/hosts/remote_hosts.h"
#include "experiments/progress.h"
#include "experiments/run_plan.h"

namespace crossover::experiments {

// The hosts of --hosts and where processes of the runs go on them; empty without it.
struct HostsChoice {
  std::vector<HostSpec> hosts;
  HostPlacement placement;
};
// Errors: what is wrong in the file or the flags, too few slots. Nobody is connected to. Blocks on
// the disk.
absl::StatusOr<HostsChoice> ChooseHosts(const Arguments& arguments,
                                        const std::vector<PlannedRun>& runs);

// Connects to the chosen hosts and checks them (hosts/remote_hosts.h); sets `options.hosts`,
// `sites`, `network` and the environment's cores, prints what was found. Null, and nothing set,
// without hosts. Blocks for some seconds. A signal may end the program meanwhile: what was started
// on the hosts ends with it.
absl::StatusOr<std::unique_ptr<RemoteHosts>> SetUpHosts(const Arguments& arguments,
                                                        const HostsChoice& choice,
                                                        const Clock& clock,
                                                        ProgressPrinter& progress,
                                                        ComparisonOptions& options);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_COMPARE_HOSTS_H_
