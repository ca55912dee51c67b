#include "ps/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/reduce.h"

namespace crossover::ps {
namespace {

using ::testing::HasSubstr;

proto::Job SgdJob(proto::Strategy::Name strategy, int workers, double learning_rate = 0.125) {
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

// Worker w's loss is a/2 (x - target_w)^2 in each value, with target_w = value + w.
constexpr float kCurvature = 0.5f;
void QuadraticGradient(int worker, int64_t, std::span<const float> parameters,
                       std::span<float> gradient) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    gradient[i] = kCurvature * (parameters[i] - static_cast<float>(i) - static_cast<float>(worker));
  }
}

SimulationOptions Options(const proto::Job& job, int64_t steps) {
  SimulationOptions options;
  options.job = job;
  options.steps = steps;
  options.parameters = {4, -1, 0.5f, 8, 2};
  options.part_lengths = {2, 3};
  options.compute_ns_min = 100;
  options.compute_ns_max = 1000;
  options.travel_ns_max = 50;
  options.compute = QuadraticGradient;
  return options;
}

// x_k = target + (x_0 - target) (1 - lr a)^k, with the mean of the workers' targets.
TEST(Simulator, SyncOnAQuadraticIsItsClosedForm) {
  for (const int workers : {1, 2, 4}) {
    const SimulationOptions options = Options(SgdJob(proto::Strategy::ps_sync, workers), 20);
    const auto history = Simulate(options);
    ASSERT_TRUE(history.ok()) << history.status();
    for (size_t i = 0; i < 5; ++i) {
      const double target = static_cast<double>(i) + (workers - 1) / 2.0;
      const double expected =
          target + (options.parameters[i] - target) * std::pow(1 - 0.125 * kCurvature, 20);
      EXPECT_NEAR(history->parameters[i], expected, 1e-5) << workers;
    }
    for (const SimulatedPush& push : history->pushes) EXPECT_EQ(push.staleness, 0);
    for (const SimulatedRelease& release : history->releases) {
      EXPECT_EQ(release.version, release.step + 1);
    }
  }
}

TEST(Simulator, AsyncWithOneWorkerIsPlainSgdToTheBit) {
  const SimulationOptions options = Options(SgdJob(proto::Strategy::ps_async, 1), 30);
  const auto history = Simulate(options);
  ASSERT_TRUE(history.ok()) << history.status();
  std::vector<float> expected = options.parameters;
  std::vector<float> gradient(5);
  for (int step = 0; step < 30; ++step) {
    QuadraticGradient(0, step, expected, gradient);
    for (size_t i = 0; i < 5; ++i) expected[i] -= 0.125f * gradient[i];
  }
  EXPECT_EQ(history->parameters, expected);
}

void ExpectEqualHistories(const History& a, const History& b) {
  EXPECT_EQ(a.pushes, b.pushes);
  EXPECT_EQ(a.releases, b.releases);
  EXPECT_EQ(a.end_ns, b.end_ns);
  EXPECT_EQ(Fingerprint(a.parameters), Fingerprint(b.parameters));
}

TEST(Simulator, AsyncIsBoundedStalenessWithoutABound) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SimulationOptions async = Options(SgdJob(proto::Strategy::ps_async, 4), 25);
    async.seed = seed;
    async.slowdown = {1, 1, 3, 1};
    SimulationOptions bounded = async;
    bounded.job.set_strategy(proto::Strategy::ps_ssp);
    bounded.job.mutable_ps()->set_staleness_bound(Policy::kUnbounded);
    const auto a = Simulate(async);
    const auto b = Simulate(bounded);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->pushes.size(), 4u * 25 * 2);
    ExpectEqualHistories(*a, *b);
  }
}

int64_t LargestLead(const History& history) {
  int64_t lead_steps = 0;
  for (const SimulatedRelease& release : history.releases) {
    lead_steps = std::max(lead_steps, release.lead_steps);
  }
  return lead_steps;
}

int64_t HeldPushes(const History& history) {
  return std::count_if(history.pushes.begin(), history.pushes.end(),
                       [](const SimulatedPush& push) { return push.held; });
}

int64_t LargestStaleness(const History& history) {
  int64_t staleness = 0;
  for (const SimulatedPush& push : history.pushes) staleness = std::max(staleness, push.staleness);
  return staleness;
}

// Whatever the speeds, everybody makes all its steps, nobody waits, and what is corrected is what
// is stale.
TEST(Simulator, AsyncWithCorrectionsFinishesAndDiffersOnlyByThem) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SimulationOptions options = Options(SgdJob(proto::Strategy::ps_async, 4, 0.05), 25);
    options.seed = seed;
    options.slowdown = {1, 1, 3, 1};
    const auto async = Simulate(options);
    ASSERT_TRUE(async.ok());
    ASSERT_GT(LargestStaleness(*async), 2);
    for (const auto strategy : {proto::Strategy::ps_async_dc, proto::Strategy::ps_async_scaled}) {
      options.job.set_strategy(strategy);
      const auto corrected = Simulate(options);
      ASSERT_TRUE(corrected.ok()) << corrected.status();
      EXPECT_EQ(corrected->pushes, async->pushes);
      EXPECT_EQ(corrected->releases, async->releases);
      EXPECT_NE(corrected->parameters, async->parameters);
    }
  }
}

// Workers move straight to their targets, 0 to 3 above each value's index, and back by the elastic
// part: all finish without waiting, and the centre ends among the targets.
TEST(Simulator, ElasticAveragingFinishesWithTheCentreAmongTheWorkers) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SimulationOptions options = Options(SgdJob(proto::Strategy::ps_elastic, 4), 60);
    options.seed = seed;
    options.slowdown = {1, 1, 3, 1};
    options.compute = [](int worker, int64_t, std::span<const float>, std::span<float> pushed) {
      for (size_t i = 0; i < pushed.size(); ++i) pushed[i] = static_cast<float>(i + worker);
    };
    const auto history = Simulate(options);
    ASSERT_TRUE(history.ok()) << history.status();
    EXPECT_EQ(history->releases.size(), 4u * 60 * 2);
    EXPECT_EQ(HeldPushes(*history), 0);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_GT(history->parameters[i], static_cast<float>(i) + 0.2f);
      EXPECT_LT(history->parameters[i], static_cast<float>(i) + 2.8f);
    }
  }
}

TEST(Simulator, GroupsAreAsyncAmongEachOther) {
  SimulationOptions options = Options(SgdJob(proto::Strategy::ps_groups, 6), 30);
  options.job.mutable_ps()->set_groups(3);
  options.slowdown = {1, 9, 1, 9, 3, 9};  // of the others a group has none
  const auto history = Simulate(options);
  ASSERT_TRUE(history.ok()) << history.status();
  std::vector<int64_t> pushes(6);
  for (const SimulatedPush& push : history->pushes) pushes[push.worker] += push.applied;
  EXPECT_EQ(pushes, std::vector<int64_t>({60, 0, 60, 0, 60, 0}));
  EXPECT_EQ(HeldPushes(*history), 0);
  EXPECT_GT(LargestLead(*history), 5);
}

// What ps.one_version promises: a step's replies are of one version on all parts.
TEST(Simulator, AnswersThatWaitForTheWholeStepAreOfOneVersion) {
  SimulationOptions options = Options(SgdJob(proto::Strategy::ps_ssp, 4), 30);
  options.job.mutable_ps()->set_staleness_bound(0);
  options.travel_ns_max = 900;
  options.slowdown = {1, 1, 1, 3};
  const auto bounded = Simulate(options);
  options.job.set_strategy(proto::Strategy::ps_sync);
  const auto sync = Simulate(options);
  ASSERT_TRUE(bounded.ok() && sync.ok());
  for (const SimulatedRelease& release : bounded->releases) {
    EXPECT_EQ(release.version, 4 * (release.step + 1));
  }
  for (const SimulatedRelease& release : sync->releases) {
    EXPECT_EQ(release.version, release.step + 1);
  }
}

TEST(Simulator, BoundIsReachedAndNeverPassed) {
  for (const int64_t bound : {0, 1, 3}) {
    SimulationOptions options = Options(SgdJob(proto::Strategy::ps_ssp, 4), 30);
    options.job.mutable_ps()->set_staleness_bound(bound);
    options.slowdown = {1, 1, 1, 3};
    const auto history = Simulate(options);
    ASSERT_TRUE(history.ok()) << history.status();
    EXPECT_EQ(history->pushes.size(), 4u * 30 * 2);
    EXPECT_EQ(history->releases.size(), 4u * 30 * 2);
    EXPECT_EQ(LargestLead(*history), bound);
    EXPECT_GT(HeldPushes(*history), 0);
    // From the order of pushes alone: when a worker begins step t (having been let
    // go), the others have pushed at least t - bound.
    std::vector<std::vector<int64_t>> completed(2, std::vector<int64_t>(4));
    for (const SimulatedPush& push : history->pushes) {
      auto& part = completed[push.part];
      EXPECT_LE(push.step - *std::min_element(part.begin(), part.end()), bound);
      part[push.worker] = push.step + 1;
    }
  }
}

TEST(Simulator, WithoutABoundTheFastRunAway) {
  SimulationOptions options = Options(SgdJob(proto::Strategy::ps_async, 4), 30);
  options.slowdown = {1, 1, 1, 3};
  const auto history = Simulate(options);
  ASSERT_TRUE(history.ok());
  EXPECT_GT(LargestLead(*history), 10);
  EXPECT_EQ(HeldPushes(*history), 0);
}

// Two workers, one value, lr 1/8, gradient 1 of worker 0 and 10 of worker 1; worker
// 1 takes twice as long: pushes at 100 (0), 200 (0, then 1), 300 (0), 400 (1).
TEST(Simulator, HistoryIsTheOneComputedByHand) {
  SimulationOptions options;
  options.job = SgdJob(proto::Strategy::ps_async, 2);
  options.steps = 2;
  options.parameters = {8};
  options.part_lengths = {1};
  options.compute_ns_min = options.compute_ns_max = 100;
  options.slowdown = {1, 2};
  options.compute = [](int worker, int64_t step, std::span<const float> parameters,
                       std::span<float> gradient) {
    gradient[0] = worker == 0 ? 8 : parameters[0] + static_cast<float>(step);
  };
  const auto history = Simulate(options);
  ASSERT_TRUE(history.ok()) << history.status();
  // t=100: worker 0: 8 - 1 = 7. t=200: worker 1 (planned first), from version 0: 7 - 8/8 = 6;
  // then worker 0: 6 - 1 = 5. t=400: worker 1 from 6 (version 2), step 1: 5 - 7/8.
  const std::vector<SimulatedPush> expected = {
      {100, 0, 0, 0, 0, true, false, false},
      {200, 0, 1, 0, 1, true, false, false},
      {200, 0, 0, 1, 1, true, false, false},
      {400, 0, 1, 1, 1, true, false, false},
  };
  EXPECT_EQ(history->pushes, expected);
  EXPECT_EQ(history->parameters, std::vector<float>{4.125f});
  EXPECT_EQ(history->end_ns, 400);
}

// Each part's steps close without the slowest; who is late goes on with what is open; all end, at
// the same parameters' versions, after as many updates as there are steps.
TEST(Simulator, BackupWorkersEndTogetherWhateverTheSpeeds) {
  for (const int backup_workers : {0, 1, 2, 3}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      SimulationOptions options = Options(SgdJob(proto::Strategy::ps_backup, 4), 30);
      options.job.mutable_ps()->set_backup_workers(backup_workers);
      options.seed = seed;
      options.travel_ns_max = 700;
      options.slowdown = {1, 1, 1.5, 4};
      const auto history = Simulate(options);
      ASSERT_TRUE(history.ok()) << history.status();
      std::vector<int64_t> updates(2), counted(4);
      std::vector<std::vector<int64_t>> last_version(4, std::vector<int64_t>(2));
      for (const SimulatedPush& push : history->pushes) {
        updates[push.part] += push.applied;
        counted[push.worker] += !push.late;
        EXPECT_TRUE(push.late || push.staleness == 0);
      }
      for (const SimulatedRelease& release : history->releases) {
        last_version[release.worker][release.part] = release.version;
      }
      EXPECT_EQ(updates, std::vector<int64_t>({30, 30})) << backup_workers << " " << seed;
      EXPECT_EQ(last_version, std::vector<std::vector<int64_t>>(4, {30, 30}));
      EXPECT_EQ(std::accumulate(counted.begin(), counted.end(), int64_t{0}),
                2 * 30 * (4 - backup_workers));
      if (backup_workers > 0) {
        EXPECT_LT(counted[3], counted[0]);
      }
    }
  }
}

TEST(Simulator, BackupWorkersSpareTheStragglersTime) {
  SimulationOptions options = Options(SgdJob(proto::Strategy::ps_sync, 4), 50);
  options.slowdown = {1, 1, 1, 5};
  const auto sync = Simulate(options);
  options.job.set_strategy(proto::Strategy::ps_backup);
  const auto backup = Simulate(options);
  ASSERT_TRUE(sync.ok() && backup.ok());
  EXPECT_LT(backup->end_ns, sync->end_ns / 2);
}

TEST(Simulator, OneSeedGivesOneHistory) {
  SimulationOptions options = Options(SgdJob(proto::Strategy::ps_async, 3), 10);
  ExpectEqualHistories(*Simulate(options), *Simulate(options));
  const auto first = Simulate(options);
  options.seed = 2;
  EXPECT_NE(Simulate(options)->pushes, first->pushes);
}

TEST(Simulator, CutDoesNotChangeSyncResults) {
  SimulationOptions options = Options(SgdJob(proto::Strategy::ps_sync, 3), 10);
  options.job.set_deterministic(true);
  const auto two = Simulate(options);
  options.part_lengths = {1, 1, 1, 1, 1};
  options.seed = 99;
  EXPECT_EQ(Simulate(options)->parameters, two->parameters);
}

TEST(Simulator, RefusesSizesThatDoNotAgree) {
  SimulationOptions options = Options(SgdJob(proto::Strategy::ps_sync, 2), 1);
  options.part_lengths = {2, 2};
  EXPECT_THAT(Simulate(options).status().message(), HasSubstr("4 values for 5 parameters"));
  options.part_lengths = {5, 0};
  EXPECT_FALSE(Simulate(options).ok());
  options.part_lengths = {5};
  options.slowdown = {1};
  EXPECT_THAT(Simulate(options).status().message(), HasSubstr("one factor for each worker"));
}

TEST(Simulator, RefusesToClip) {
  SimulationOptions options = Options(SgdJob(proto::Strategy::ps_sync, 2), 1);
  options.job.mutable_optimizer()->set_clip_norm(0.5);
  EXPECT_THAT(Simulate(options).status().message(),
              HasSubstr("optimizer.clip_norm is 0.5; allowed: 0"));
}

TEST(Simulator, NoStepsChangeNothing) {
  const SimulationOptions options = Options(SgdJob(proto::Strategy::ps_sync, 2), 0);
  const auto history = Simulate(options);
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(history->parameters, options.parameters);
  EXPECT_TRUE(history->pushes.empty());
}

}  // namespace
}  // namespace crossover::ps
