// What a strategy is built from: the job, the worker's buffers and its links.
// Everything is borrowed and outlives the strategy.
#ifndef CROSSOVER_WORKER_STRATEGIES_STRATEGY_CONTEXT_H_
#define CROSSOVER_WORKER_STRATEGIES_STRATEGY_CONTEXT_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "allreduce/communicator.h"
#include "core/bucket_plan.h"
#include "core/device_span.h"
#include "core/learning_rate.h"
#include "core/timeline.h"
#include "proto/job.pb.h"
#include "ps/client.h"

namespace crossover::worker {

struct StrategyContext {
  const proto::Job& job;  // validated
  const BucketPlan& buckets;
  const LearningRateSchedule& learning_rate;
  Timeline& timeline;
  DeviceSpan parameters;
  DeviceSpan gradients;
  int64_t total_steps = 0;
  int rank = 0;
  // Ranks whose gradients are in an update: what the fp32 sum is divided by.
  int contributors = 1;
  // Whichever the strategy needs here (UsesCollectives, TalksToServers); the others are null. The
  // communicator is of the worker's group (GroupOf).
  allreduce::Communicator* communicator = nullptr;
  ps::Client* servers = nullptr;
  // Blocks until every worker has come here; bounded by the run's deadlines.
  std::function<absl::Status(const char* name)> barrier;
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_STRATEGIES_STRATEGY_CONTEXT_H_
