// The hosts of a communication test that --hosts names: connected to and checked.
#ifndef CROSSOVER_BENCH_COMM_HOSTS_H_
#define CROSSOVER_BENCH_COMM_HOSTS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/comm/arguments.h"
#include "core/clock.h"
#include "experiments/hosts/remote_hosts.h"

namespace crossover::bench {

struct TestHosts {
  std::unique_ptr<experiments::RemoteHosts> hosts;
  int ranks = 0;  // as many as were asked for, or as there are slots for
};

// Blocks for some seconds (docs/HOSTS.md says what is checked); `binary` is copied where it is
// missing. Errors name every host that is at fault and why.
absl::StatusOr<TestHosts> ConnectHosts(const Arguments& arguments, const std::string& binary,
                                       const std::function<void(const std::string&)>& say,
                                       const Clock& clock);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_HOSTS_H_
