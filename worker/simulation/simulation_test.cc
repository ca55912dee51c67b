#include "worker/simulation/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "core/bucket_plan.h"
#include "core/clock.h"
#include "core/job.h"
#include "core/reduce.h"
#include "core/timeline.h"
#include "worker/strategies/strategy_table.h"
#include "worker/trainer.h"

namespace crossover::worker {
namespace {

using testing::HasSubstr;

constexpr VirtualCluster kCluster = {.compute = {.min_ns = 8'000'000, .max_ns = 12'000'000},
                                     .latency_ns = 100'000,
                                     .link_bytes_per_s = 125e6};

// Classes that differ by where an image is bright, with noise.
Dataset MakeData(int64_t samples) {
  std::mt19937 random(7);
  Dataset data;
  data.shape = {.channels = 1, .height = 8, .width = 8, .classes = 4};
  data.normalization = {.mean = {0.4f}, .standard_deviation = {0.3f}};
  for (int64_t i = 0; i < samples; ++i) {
    const auto label = static_cast<uint8_t>(i % 4);
    data.labels.push_back(label);
    for (int pixel = 0; pixel < 64; ++pixel) {
      data.pixels.push_back(static_cast<uint8_t>(random() % 128 + (pixel / 16 == label ? 60 : 0)));
    }
  }
  return data;
}

TrainTest MakeTrainTest() { return {MakeData(640), MakeData(200)}; }

proto::Job JobUnder(proto::Strategy::Name strategy) {
  proto::Job job;
  job.set_strategy(strategy);
  job.set_workers(8);
  job.set_global_batch(64);
  job.set_epochs(2);
  job.mutable_measure()->set_warmup_steps(0);
  job.mutable_learning_rate()->set_base(0.05);
  job.mutable_local_sgd()->set_through(proto::LocalSgd::servers);
  job.mutable_ps()->set_part_bytes(16384);
  return job;
}

SimulatedTraining MustSimulate(const proto::Job& job, const VirtualCluster& cluster = kCluster) {
  absl::StatusOr<SimulatedTraining> training = SimulateTraining(job, cluster, MakeTrainTest());
  EXPECT_TRUE(training.ok()) << training.status();
  return training.ok() ? *std::move(training) : SimulatedTraining();
}

TEST(Simulation, EveryRuleLearnsAndReplaysToTheBit) {
  for (const auto strategy :
       {proto::Strategy::ps_sync, proto::Strategy::ps_backup, proto::Strategy::ps_ssp,
        proto::Strategy::ps_async, proto::Strategy::ps_async_dc, proto::Strategy::ps_async_scaled,
        proto::Strategy::ps_elastic, proto::Strategy::ps_groups, proto::Strategy::local_sgd}) {
    proto::Job job = JobUnder(strategy);
    const SimulatedTraining first = MustSimulate(job);
    const SimulatedTraining again = MustSimulate(job);
    EXPECT_EQ(Fingerprint(first.parameters), Fingerprint(again.parameters))
        << StrategyName(strategy);
    EXPECT_EQ(first.end_s, again.end_s);
    EXPECT_EQ(first.staleness_counts, again.staleness_counts);
    EXPECT_EQ(first.divergence, "");
    ASSERT_GE(first.points.size(), 2u) << "after each epoch";
    EXPECT_GT(first.points.back().accuracy, 0.8) << StrategyName(strategy);
    job.set_seed(2);
    EXPECT_NE(Fingerprint(first.parameters), Fingerprint(MustSimulate(job).parameters))
        << StrategyName(strategy);
  }
}

struct Trained {
  std::vector<double> step_losses;
  std::vector<float> parameters;
};

// By the trainer and the strategy of a real single process.
Trained TrainInOneProcess(proto::Job job) {
  job.set_strategy(proto::Strategy::single);
  const TrainTest data = MakeTrainTest();
  const StepPlan plan = *MakeStepPlan(job, data.train.size());
  ManualClock clock;
  const std::unique_ptr<Model> model = *MakeModel(job, data.train.shape, 0, clock);
  const BucketPlan buckets = MakeBucketPlan(model->layout(), 1 << 20, 1 << 24);
  const LearningRateSchedule learning_rate(job.learning_rate(), job.global_batch(),
                                           plan.total_steps);
  Timeline timeline(clock);
  const std::unique_ptr<Strategy> strategy =
      MakeStrategy({.job = job,
                    .buckets = buckets,
                    .learning_rate = learning_rate,
                    .timeline = timeline,
                    .parameters = model->parameters(),
                    .gradients = model->gradients(),
                    .total_steps = plan.total_steps,
                    .rank = 0,
                    .contributors = job.workers(),
                    .communicator = nullptr,
                    .servers = nullptr,
                    .barrier = [](const char*) { return absl::OkStatus(); }});
  std::vector<std::unique_ptr<BatchLoader>> loaders;
  std::vector<BatchLoader*> shards;
  for (int rank = 0; rank < job.workers(); ++rank) {
    const BatchLoader::Options options = {
        .seed = job.seed(), .accumulation = 1, .rank = rank, .ranks = job.workers()};
    loaders.push_back(std::make_unique<BatchLoader>(data.train, plan, options, EpochPermutation));
    shards.push_back(loaders.back().get());
  }
  Trained trained;
  Trainer trainer({.job = job,
                   .plan = plan,
                   .buckets = buckets,
                   .rank = 0,
                   .shards = shards,
                   .keep_snapshots = false,
                   .after_step =
                       [&](int64_t, int64_t, double loss) {
                         trained.step_losses.push_back(loss);
                         return absl::OkStatus();
                       }},
                  *model, *strategy, timeline, clock);
  EXPECT_TRUE(strategy->Start().ok());
  EXPECT_TRUE(trainer.Run().ok());
  const std::span<const float> parameters = model->parameters().host();
  trained.parameters.assign(parameters.begin(), parameters.end());
  return trained;
}

// Workers' pushes come in another order than their ranks', so sums differ by roundings.
TEST(Simulation, SyncIsTrainingInOneProcess) {
  const proto::Job job = JobUnder(proto::Strategy::ps_sync);
  const Trained single = TrainInOneProcess(job);
  const SimulatedTraining simulated = MustSimulate(job);
  ASSERT_EQ(simulated.step_losses.size(), single.step_losses.size());
  for (size_t step = 0; step < single.step_losses.size(); ++step) {
    EXPECT_NEAR(simulated.step_losses[step], single.step_losses[step], 1e-5) << step;
  }
  EXPECT_LT(RelativeDifference(simulated.parameters, single.parameters), 1e-5);
  EXPECT_LT(single.step_losses.back(), single.step_losses.front() / 2) << "it has learnt";
}

TEST(Simulation, DeterministicSyncIsTrainingInOneProcessToTheBit) {
  proto::Job job = JobUnder(proto::Strategy::ps_sync);
  job.set_deterministic(true);
  EXPECT_EQ(MustSimulate(job).parameters, TrainInOneProcess(job).parameters);
}

// Steps of 10 ms, no time on the way, worker 3 slowed four times for ever: 20 steps.
TEST(Simulation, APersistentStragglersCostIsWorkedOutByHand) {
  const VirtualCluster cluster = {.compute = {.min_ns = 10'000'000, .max_ns = 10'000'000}};
  proto::Job job = JobUnder(proto::Strategy::ps_sync);
  job.mutable_straggler()->set_rank(3);
  job.mutable_straggler()->set_factor(4);
  const SimulatedTraining sync = MustSimulate(job, cluster);
  EXPECT_NEAR(sync.end_s, 20 * 0.04, 1e-9);
  EXPECT_NEAR(sync.samples_per_s, 64 / 0.04, 1e-6);
  EXPECT_NEAR(sync.held_s[0], 0.03, 1e-9);
  EXPECT_EQ(sync.held_s[3], 0);

  job.set_strategy(proto::Strategy::ps_backup);
  const SimulatedTraining backup = MustSimulate(job, cluster);
  EXPECT_NEAR(backup.samples_per_s, 56 / 0.01, 1e-6) << "seven of eight";
  EXPECT_GT(backup.late_pushes, 0);

  // The others have done 20 steps while it has done 5.
  job.set_strategy(proto::Strategy::ps_async);
  const SimulatedTraining async = MustSimulate(job, cluster);
  EXPECT_NEAR(async.samples_per_s, (7 * 20 + 5) * 8 / 0.2, 8 / 0.2);
  EXPECT_THAT(async.held_s, testing::Each(0));

  // Held at the bound: their 20th step is answered when it has done 17.
  job.set_strategy(proto::Strategy::ps_ssp);
  const SimulatedTraining bounded = MustSimulate(job, cluster);
  EXPECT_NEAR(bounded.samples_per_s, (7 * 20 + 17) * 8 / (17 * 0.04), 1e-6);
}

TEST(Simulation, AGroupPushesForItsMembers) {
  proto::Job job = JobUnder(proto::Strategy::ps_groups);
  job.mutable_ps()->set_groups(8);
  proto::Job async = JobUnder(proto::Strategy::ps_async);
  EXPECT_EQ(MustSimulate(job).parameters, MustSimulate(async).parameters) << "groups of one";
  job.mutable_ps()->set_groups(1);
  proto::Job sync = JobUnder(proto::Strategy::ps_sync);
  EXPECT_LT(RelativeDifference(MustSimulate(job).parameters, MustSimulate(sync).parameters), 1e-5);
}

// Its worker's first local steps are those of a single worker; plain averaging of one is nothing.
TEST(Simulation, LocalStepsOfOneWorkerAreSgdOnItsOwn) {
  proto::Job local = JobUnder(proto::Strategy::local_sgd);
  local.set_workers(1);
  proto::Job sync = JobUnder(proto::Strategy::ps_sync);
  sync.set_workers(1);
  EXPECT_EQ(MustSimulate(local).parameters, MustSimulate(sync).parameters);
}

TEST(Simulation, StrategiesWithoutServersAreRefused) {
  const auto ring =
      SimulateTraining(JobUnder(proto::Strategy::allreduce_ring), kCluster, MakeTrainTest());
  EXPECT_THAT(ring.status().message(), HasSubstr("allreduce_ring goes through no servers"));
  proto::Job job = JobUnder(proto::Strategy::local_sgd);
  job.mutable_local_sgd()->set_through(proto::LocalSgd::allreduce);
  EXPECT_THAT(SimulateTraining(job, kCluster, MakeTrainTest()).status().message(),
              HasSubstr("--local_sgd.through=servers"));
}

}  // namespace
}  // namespace crossover::worker
