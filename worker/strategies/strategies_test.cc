// The strategies over in-process links: threads as workers, a quadratic as the model,
// so that the expected parameters can be worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/job.h"
#include "net/inproc_endpoint.h"
#include "worker/strategies/strategy_table.h"

namespace crossover::worker {
namespace {

// Worker r pulls the parameters towards r + 1: gradient = p - (r + 1).
constexpr int kLength = 6;

proto::Job QuadraticJob(proto::Strategy::Name strategy, int workers) {
  proto::Job job;
  job.set_strategy(strategy);
  job.set_workers(workers);
  job.set_steps(10);
  job.set_epochs(0);
  job.mutable_optimizer()->set_name(proto::OptimizerKind::sgd);
  job.mutable_learning_rate()->set_base(0.5);
  job.mutable_learning_rate()->set_warmup_fraction(0);
  job.mutable_learning_rate()->set_decay(proto::LearningRate::constant);
  job.mutable_local_sgd()->set_first_phase_steps(0);
  return job;
}

allreduce::Communicator::Options RingOptions() {
  allreduce::Communicator::Options options;
  options.choose = [](allreduce::Kind kind, const allreduce::Place&, int64_t) {
    return kind == allreduce::Kind::kBroadcast ? allreduce::Algorithm::kChain
                                               : allreduce::Algorithm::kRing;
  };
  return options;
}

// Runs `steps` steps on every worker, which must exchange values so often, and returns
// everyone's final parameters.
std::vector<std::vector<float>> Train(const proto::Job& job, int steps,
                                      int expected_synchronisations) {
  const int workers = job.workers();
  FlatLayout layout;
  AppendParameter(layout, "late", {2});
  AppendParameter(layout, "early", {4});
  const BucketPlan buckets = MakeBucketPlan(layout, 8, 8);
  const LearningRateSchedule learning_rate(job.learning_rate(), job.global_batch(), steps);
  const SystemClock wire_clock;
  const auto endpoints = net::MakeInprocEndpoints(workers, wire_clock);
  std::vector<std::vector<float>> parameters(workers);
  std::vector<int64_t> synchronisations(workers);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < workers; ++rank) {
    threads.emplace_back([&, rank] {
      SystemClock clock;
      Timeline timeline(clock);
      parameters[rank].assign(kLength, static_cast<float>(rank) * 100);  // rank 0's are 0
      std::vector<float> gradients(kLength);
      allreduce::Communicator communicator(*endpoints[rank], RingOptions(), clock);
      const std::unique_ptr<Strategy> strategy =
          MakeStrategy({.job = job,
                        .buckets = buckets,
                        .learning_rate = learning_rate,
                        .timeline = timeline,
                        .parameters = {parameters[rank].data(), kLength},
                        .gradients = {gradients.data(), kLength},
                        .total_steps = steps,
                        .rank = rank,
                        .contributors = workers,
                        .communicator = &communicator,
                        .servers = nullptr,
                        .barrier = [](const char*) { return absl::OkStatus(); }});
      ASSERT_TRUE(strategy->Start().ok());
      for (int step = 0; step < steps; ++step) {
        timeline.BeginStep(step);
        strategy->BeginStep(step);
        for (int i = 0; i < kLength; ++i) {
          gradients[i] = parameters[rank][i] - static_cast<float>(rank + 1);
        }
        for (const Bucket& bucket : buckets.buckets) strategy->BucketReady(bucket.id);
        ASSERT_TRUE(strategy->EndStep().ok());
        timeline.EndStep(1, 0);
      }
      ASSERT_TRUE(strategy->Finish().ok());
      synchronisations[rank] = strategy->counters().synchronisations;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int64_t mine : synchronisations) EXPECT_EQ(mine, expected_synchronisations);
  return parameters;
}

// The mean gradient is p - m with m the mean target: p_k = m (1 - (1 - lr)^k).
TEST(AllReduceStrategy, FollowsTheClosedFormOnAQuadratic) {
  for (const int workers : {1, 2, 3}) {
    const double mean = (workers + 1) / 2.0;
    const auto parameters = Train(QuadraticJob(proto::Strategy::allreduce_ring, workers), 4, 4);
    for (const std::vector<float>& mine : parameters) {
      for (const float value : mine) {
        EXPECT_NEAR(value, mean * (1 - 1.0 / 16), 1e-6) << workers << " workers";
      }
    }
  }
}

// Of six equal values the gradient's norm is sqrt(6) |p - m|: steps of lr clip / sqrt(6) each.
TEST(AllReduceStrategy, ClipsTheMeanOfAllBuckets) {
  for (const int workers : {1, 3}) {
    proto::Job job = QuadraticJob(proto::Strategy::allreduce_ring, workers);
    job.mutable_optimizer()->set_clip_norm(0.25);
    for (const std::vector<float>& mine : Train(job, 3, 3)) {
      for (const float value : mine) {
        EXPECT_NEAR(value, 3 * 0.5 * 0.25 / std::sqrt(6), 1e-6) << workers << " workers";
      }
    }
  }
}

// Workers pull towards 1 and 2; each step of either is as long, whatever the distance.
TEST(LocalStrategy, ClipsEachWorkersGradient) {
  proto::Job job = QuadraticJob(proto::Strategy::local_sgd, 2);
  job.mutable_local_sgd()->set_local_steps(2);
  job.mutable_optimizer()->set_clip_norm(0.25);
  for (const std::vector<float>& mine : Train(job, 3, 2)) {
    for (const float value : mine) EXPECT_NEAR(value, 3 * 0.5 * 0.25 / std::sqrt(6), 1e-6);
  }
}

TEST(LocalStrategy, OneLocalStepIsTheMeanGradient) {
  proto::Job job = QuadraticJob(proto::Strategy::local_sgd, 2);
  job.mutable_local_sgd()->set_local_steps(1);
  for (const std::vector<float>& mine : Train(job, 4, 4)) {
    for (const float value : mine) EXPECT_NEAR(value, 1.5 * (1 - 1.0 / 16), 1e-6);
  }
}

// H = 3 averages after steps 0 and 3, and Finish after step 4. On a quadratic the
// mean of the workers follows the same recurrence whenever it is averaged.
TEST(LocalStrategy, EndsWithTheAverageOfAllWorkers) {
  proto::Job job = QuadraticJob(proto::Strategy::local_sgd, 3);
  job.mutable_local_sgd()->set_local_steps(3);
  for (const std::vector<float>& mine : Train(job, 5, 3)) {
    for (const float value : mine) EXPECT_NEAR(value, 2 * (1 - 1.0 / 32), 1e-6);
  }
}

// One averaging after step 0 from theta 0: mean local theta = 0.75, g = -0.75, and
// Nesterov from rest: v = g, theta = -lr (g + mu v) = 0.7 * 0.75 * 1.9.
TEST(LocalStrategy, OuterNesterovTakesItsFirstStep) {
  proto::Job job = QuadraticJob(proto::Strategy::local_sgd, 2);
  job.mutable_local_sgd()->set_local_steps(1);
  job.mutable_local_sgd()->set_outer_learning_rate(0.7);
  job.mutable_local_sgd()->set_outer_momentum(0.9);
  for (const std::vector<float>& mine : Train(job, 1, 1)) {
    for (const float value : mine) EXPECT_NEAR(value, 0.7 * 0.75 * 1.9, 1e-6);
  }
}

TEST(LocalStrategy, TheFirstPhaseAveragesPlainly) {
  proto::Job job = QuadraticJob(proto::Strategy::local_sgd, 2);
  job.mutable_local_sgd()->set_local_steps(4);
  job.mutable_local_sgd()->set_first_phase_steps(2);
  job.mutable_local_sgd()->set_outer_learning_rate(0.7);
  job.mutable_local_sgd()->set_outer_momentum(0.9);
  for (const std::vector<float>& mine : Train(job, 2, 2)) {
    for (const float value : mine) EXPECT_NEAR(value, 1.5 * (1 - 1.0 / 4), 1e-6);
  }
}

}  // namespace
}  // namespace crossover::worker
