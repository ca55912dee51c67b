// What the tests of a shard's rules share. For tests alone.
#ifndef CROSSOVER_PS_SHARD_TESTING_H_
#define CROSSOVER_PS_SHARD_TESTING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "ps/payload.h"
#include "ps/policy.h"
#include "ps/shard.h"

namespace crossover::ps {

inline constexpr int64_t kTotalSteps = 10;

// Plain SGD with a rate of `learning_rate` at every step.
inline proto::Job SgdJob(proto::Strategy::Name strategy, int workers, double learning_rate = 0.5) {
  proto::Job job;
  job.set_strategy(strategy);
  job.set_workers(workers);
  job.mutable_optimizer()->set_name(proto::OptimizerKind::sgd);
  job.mutable_learning_rate()->set_base(learning_rate);
  job.mutable_learning_rate()->set_warmup_steps(0);
  job.mutable_learning_rate()->set_decay(proto::LearningRate::constant);
  job.mutable_ps()->set_push_rate(proto::ParameterServer::full);
  return job;
}

inline ShardPart Part(const proto::Job& job, std::vector<float> parameters) {
  ShardPart part(job, PolicyFor(job), static_cast<int64_t>(parameters.size()), kTotalSteps);
  EXPECT_TRUE(part.Initialize(Payload(std::as_bytes(std::span(parameters)))).ok());
  return part;
}

inline absl::StatusOr<PushResult> Push(ShardPart& part, int worker, int64_t step, int64_t version,
                                       const std::vector<float>& values) {
  return part.Push(worker, step, version, Payload(std::as_bytes(std::span(values))));
}

inline std::vector<float> Values(const ShardPart& part) {
  return {part.parameters().begin(), part.parameters().end()};
}

inline std::vector<int> Workers(const std::vector<Release>& released) {
  std::vector<int> workers;
  for (const Release& release : released) workers.push_back(release.worker);
  return workers;
}

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_SHARD_TESTING_H_
