// The order of a comparison's runs. Repetitions interleave the strategies, and each
// repetition starts with another one, so that a drift of the machine's speed and
// the order itself fall on all alike. Pure.
#ifndef CROSSOVER_EXPERIMENTS_RUN_PLAN_H_
#define CROSSOVER_EXPERIMENTS_RUN_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace crossover::experiments {

// The same job with the lenet model and, unless it has a rate of its own, a learning
// rate that suits it: that of specs/lenet.textproto.
proto::Job LenetJob(proto::Job job);

struct PlannedRun {
  int index = 0;       // from 0
  int repetition = 0;  // from 0
  proto::Job job;      // with the run's strategy, validated, all fields written out
  std::string name;    // "003-allreduce_ring-lenet-r1": unique, sorts in order
  std::string label;   // what tells it from its strategy's others: "r1", "lr 0.05"
};

// Repetition r trains with the job's seed + r, the same for all strategies: their
// accuracies are compared seed by seed.
//
// Every job under every strategy that its `comparison` names (the six that differ in kind if it
// names none), as often as the first job's comparison says. Refuses a job that
// some strategy cannot run, naming both. A strategy that deterministic mode
// excludes is left out where the job names no strategies itself.
absl::StatusOr<std::vector<PlannedRun>> PlanRuns(const std::vector<proto::Job>& jobs);

// The strategies of one job's comparison, in order.
std::vector<proto::Strategy::Name> ComparedStrategies(const proto::Job& job);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RUN_PLAN_H_
