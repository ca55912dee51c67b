// Which network a comparison runs on, and whether a machine can imitate it for an emulated
// model. Pure.
#ifndef CROSSOVER_EXPERIMENTS_NETWORK_CHOICE_H_
#define CROSSOVER_EXPERIMENTS_NETWORK_CHOICE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/results/result.h"
#include "lab/network_spec.h"
#include "proto/job.pb.h"

namespace crossover::experiments {

// The lab of a job that says nothing of its network, where the launcher may make one.
inline constexpr char kDefaultNetwork[] = "1gbit";

struct NetworkChoice {
  lab::NetworkSpec spec;  // as imitated: an emulated job's scales are not in it
  bool asked = false;     // by the job or a flag; else it is the default
};
// Errors: a text that is no network; a lab asked for without root.
absl::StatusOr<NetworkChoice> ChooseNetwork(const proto::Job& job, bool is_root);

// Whether the job sets a congestion control: another one than the default, which a job whose
// defaults are written out names too.
bool SetsCongestionControl(const proto::Job& job);

// Bytes a second that all nodes together send at most while the job runs, in the long run
// of its steps: 2 N M (a push and a pull of each worker, or the ring's 2 (N-1) M) in the
// longer of its compute and M / B, B being a worker's link. Of the scaled job, as it runs.
double EmulatedTrafficBytesPerS(const proto::Job& job, const lab::NetworkSpec& scaled);

// Refuses an emulated job whose traffic exceeds 30% of what the nodes carried together
// without limits: moving the bytes would keep this machine's processors busy, and what was
// measured would be they.
absl::Status CheckEmulatedTraffic(const proto::Job& job, const lab::NetworkSpec& scaled,
                                  double unshaped_bytes_per_s);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_NETWORK_CHOICE_H_
