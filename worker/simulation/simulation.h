// A job's training in virtual time, on one thread: the job's model, data and learning rates, the
// servers' own state machines (ps/shard.h), and workers that take turns (virtual_workers.h). What
// a consistency rule costs in accuracy and spares in time is then a matter of the rule alone; one
// seed gives one history, to the bit, on one machine.
//
// What it leaves out: servers and their links hold nothing up (//bench:ps_test and runs in the
// network lab have those), and workers all end after the job's steps.
#ifndef CROSSOVER_WORKER_SIMULATION_SIMULATION_H_
#define CROSSOVER_WORKER_SIMULATION_SIMULATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "ps/shard.h"
#include "worker/data/dataset.h"
#include "worker/simulation/virtual_workers.h"

namespace crossover::worker {

struct VirtualCluster {
  ComputeTimes compute;
  int64_t latency_ns = 0;       // of each message, one way
  double link_bytes_per_s = 0;  // each way, of each worker; 0: no time
};

// The servers' parameters as worker 0 was given them, evaluated on the test samples.
struct AccuracyPoint {
  int64_t steps = 0;  // that worker 0 has done
  double time_s = 0;
  double accuracy = 0;
};

struct SimulatedTraining {
  std::vector<AccuracyPoint> points;  // as measure.evaluate_every_steps says, and the end
  std::vector<double> step_losses;    // means over the workers, of each step
  std::vector<float> parameters;      // the servers', at the end
  double end_s = 0;
  // Samples in applied pushes for each virtual second, until the first worker's last push is
  // answered: from then on fewer and fewer train.
  double samples_per_s = 0;
  std::vector<int64_t> staleness_counts;  // applied pushes of parts, by staleness
  double staleness_mean = 0;
  std::vector<double>
      held_s;               // by worker: from a push to its answer's leaving, mean over its parts
  int64_t late_pushes = 0;  // of parts
  ps::RateSums rates;
  std::string divergence;  // why the training has ceased to learn, "" if it has not; it goes on
};

// Whether the job's strategy can be simulated: it goes through servers, and the model learns. The
// error says which do.
absl::Status CheckSimulated(const proto::Job& job);

// Blocks for as long as the gradients take. `job` is validated. Errors: CheckSimulated's; a data
// set that is too small for the job.
absl::StatusOr<SimulatedTraining> SimulateTraining(const proto::Job& job,
                                                   const VirtualCluster& cluster,
                                                   const TrainTest& data);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_SIMULATION_SIMULATION_H_
