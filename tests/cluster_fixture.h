// Runs jobs as real processes for the tests that span packages.
#ifndef CROSSOVER_TESTS_CLUSTER_FIXTURE_H_
#define CROSSOVER_TESTS_CLUSTER_FIXTURE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/launch/cluster_run.h"
#include "experiments/launch/signal_waiter.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"

namespace crossover::tests {

// The binaries, as `bazel test` lays them out.
inline constexpr char kWorkerBinary[] = "worker/worker";
inline constexpr char kServerBinary[] = "ps/server";

// A folder of IDX files with `train` and 200 test samples of 28 x 28 pixels in ten
// classes that a small model can learn; the same in every call.
std::string MakeSmallData(int train);

// A short job over such data: mlp, plain SGD, constant rate, 50 steps.
proto::Job SmallJob(const std::string& data_path);

struct Outcome {
  std::vector<proto::ProcessReport> reports;   // workers by rank, then servers by rank
  std::vector<std::vector<float>> parameters;  // final, by worker
};

// Runs `job`; its files go to a folder of the test's own, named `name`.
absl::StatusOr<Outcome> RunJob(const proto::Job& job, const std::string& name);

// The same with the launcher's options adjusted (hooks, for example).
absl::StatusOr<Outcome> RunJobWith(const proto::Job& job, const std::string& name,
                                   const std::function<void(experiments::ClusterOptions&)>& adjust);

// Whether a process of this id exists (a zombie does not count).
bool IsRunning(int pid);

}  // namespace crossover::tests

#endif  // CROSSOVER_TESTS_CLUSTER_FIXTURE_H_
