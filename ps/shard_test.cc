#include "ps/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ps/shard_testing.h"

namespace crossover::ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Shard, SyncAveragesOnceAndAnswersAll) {
  ShardPart part = Part(SgdJob(proto::Strategy::ps_sync, 3), {10, 20});
  const auto first = Push(part, 2, 0, 0, {3, 0});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(first->released, IsEmpty());
  EXPECT_FALSE(first->applied);
  EXPECT_FALSE(first->held);  // it waits for contributions, not for the lead
  EXPECT_THAT(Push(part, 0, 0, 0, {6, 3})->released, IsEmpty());
  EXPECT_THAT(Values(part), ElementsAre(10, 20));
  const auto last = Push(part, 1, 0, 0, {9, 6});
  ASSERT_TRUE(last.ok());
  EXPECT_TRUE(last->applied);
  EXPECT_THAT(Workers(last->released), ElementsAre(0, 1, 2));
  for (const Release& release : last->released) {
    EXPECT_EQ(release.step, 0);
    EXPECT_EQ(release.version, 1);
    EXPECT_EQ(release.lead_steps, 0);
  }
  EXPECT_THAT(Values(part), ElementsAre(10 - 0.5f * 6, 20 - 0.5f * 3));
  EXPECT_EQ(part.version(), 1);
  EXPECT_THAT(part.staleness().counts(), ElementsAre(3));
}

// 1e8 + 1 - 1e8 in fp32 depends on the order of the sum.
TEST(Shard, RankOrderDoesNotDependOnArrival) {
  proto::Job job = SgdJob(proto::Strategy::ps_sync, 3, 3);
  job.set_deterministic(true);
  const std::vector<std::vector<float>> contributions = {{1e8f}, {1}, {-1e8f}};
  const std::vector<std::vector<int>> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const float in_order = (1e8f + 1.0f) + -1e8f;
  for (const auto& order : orders) {
    ShardPart part = Part(job, {0});
    for (int64_t step = 0; step < 3; ++step) {  // staging is reused
      for (const int worker : order) {
        ASSERT_TRUE(Push(part, worker, step, step, contributions[worker]).ok());
      }
    }
    EXPECT_EQ(Values(part)[0], 3 * (-3.0f * (in_order * (1.0f / 3)))) << order[0] << order[1];
  }
}

TEST(Shard, AsyncAppliesAtOnceWithTheRateOfThePushedStep) {
  proto::Job job = SgdJob(proto::Strategy::ps_async, 2, 1);
  job.mutable_learning_rate()->set_warmup_steps(4);  // rates 0, 1/4, 2/4, 3/4, 1, ...
  ShardPart part = Part(job, {8});
  ASSERT_TRUE(Push(part, 0, 0, 0, {4}).ok());
  EXPECT_THAT(Values(part), ElementsAre(8));
  ASSERT_TRUE(Push(part, 0, 1, 1, {4}).ok());
  EXPECT_THAT(Values(part), ElementsAre(7));
  const auto stale = Push(part, 1, 0, 0, {4});  // step 0 again, by the other worker
  ASSERT_TRUE(stale.ok());
  EXPECT_THAT(Values(part), ElementsAre(7));
  EXPECT_EQ(stale->staleness, 2);
  EXPECT_THAT(Workers(stale->released), ElementsAre(1));
  EXPECT_EQ(stale->released[0].version, 3);
  EXPECT_THAT(part.staleness().counts(), ElementsAre(2, 0, 1));
}

TEST(Shard, BoundHoldsTheFastestUntilTheSlowestFollows) {
  proto::Job job = SgdJob(proto::Strategy::ps_ssp, 2);
  job.mutable_ps()->set_staleness_bound(1);
  ShardPart part = Part(job, {0});
  EXPECT_THAT(Workers(Push(part, 0, 0, 0, {1})->released), ElementsAre(0));  // 1 ahead
  const auto held = Push(part, 0, 1, 1, {1});                                // 2 ahead
  ASSERT_TRUE(held.ok());
  EXPECT_TRUE(held->held);
  EXPECT_TRUE(held->applied);
  EXPECT_THAT(held->released, IsEmpty());
  const auto freed = Push(part, 1, 0, 0, {1});
  ASSERT_TRUE(freed.ok());
  EXPECT_THAT(Workers(freed->released), ElementsAre(0, 1));
  EXPECT_EQ(freed->released[0].lead_steps, 1);
  EXPECT_EQ(freed->released[0].step, 1);
  EXPECT_EQ(freed->released[0].version, 3);  // the parameters as they are when it leaves
  EXPECT_EQ(freed->released[1].lead_steps, 0);
}

TEST(Shard, BoundOfZeroGoesInStep) {
  proto::Job job = SgdJob(proto::Strategy::ps_ssp, 2);
  job.mutable_ps()->set_staleness_bound(0);
  ShardPart part = Part(job, {0});
  EXPECT_TRUE(Push(part, 0, 0, 0, {1})->held);
  EXPECT_THAT(Workers(Push(part, 1, 0, 0, {1})->released), ElementsAre(0, 1));
}

TEST(Shard, LeavingFreesTheHeld) {
  proto::Job job = SgdJob(proto::Strategy::ps_ssp, 3);
  job.mutable_ps()->set_staleness_bound(0);
  ShardPart part = Part(job, {0});
  ASSERT_TRUE(Push(part, 0, 0, 0, {1}).ok());
  ASSERT_TRUE(Push(part, 1, 0, 0, {1}).ok());
  const LeaveResult result = part.Leave(2);
  EXPECT_THAT(Workers(result.released), ElementsAre(0, 1));
  EXPECT_THAT(result.stranded, IsEmpty());
  EXPECT_TRUE(result.failure.ok());
  EXPECT_THAT(part.Leave(2).released, IsEmpty());  // a second time changes nothing
}

TEST(Shard, LeavingUnansweredIsNotAnswered) {
  proto::Job job = SgdJob(proto::Strategy::ps_ssp, 2);
  job.mutable_ps()->set_staleness_bound(0);
  ShardPart part = Part(job, {0});
  ASSERT_TRUE(Push(part, 0, 0, 0, {1}).ok());
  EXPECT_THAT(part.Leave(0).released, IsEmpty());
  EXPECT_THAT(Workers(Push(part, 1, 0, 0, {1})->released), ElementsAre(1));
  EXPECT_THAT(part.Leave(1).released, IsEmpty());
}

TEST(Shard, LeavingAStepThatOthersWaitForFailsThem) {
  ShardPart part = Part(SgdJob(proto::Strategy::ps_sync, 3), {0});
  ASSERT_TRUE(Push(part, 0, 0, 0, {1}).ok());
  const LeaveResult result = part.Leave(2);
  EXPECT_THAT(result.released, IsEmpty());
  EXPECT_THAT(result.stranded, ElementsAre(0));
  EXPECT_EQ(result.failure.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(result.failure.message(),
              HasSubstr("worker 2 left after 0 steps; step 0 needs the contributions of all 3"));
  const auto late = Push(part, 1, 0, 0, {1});
  EXPECT_EQ(late.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(late.status().message(), HasSubstr("worker 2 left"));
}

TEST(Shard, LeavingAfterTheLastStepIsInOrder) {
  ShardPart part = Part(SgdJob(proto::Strategy::ps_sync, 2), {0});
  ASSERT_TRUE(Push(part, 0, 0, 0, {1}).ok());
  // Worker 0 has done its share of step 0 and leaves before the update.
  EXPECT_THAT(part.Leave(0).stranded, IsEmpty());
  EXPECT_THAT(Workers(Push(part, 1, 0, 0, {1})->released), ElementsAre(1));
  EXPECT_THAT(part.Leave(1).stranded, IsEmpty());
}

// Of a step, the refusal and that nothing changed.
TEST(Shard, RefusesAndChangesNothing) {
  ShardPart part = Part(SgdJob(proto::Strategy::ps_async, 2), {1, 2});
  ASSERT_TRUE(Push(part, 0, 0, 0, {2, 2}).ok());
  const std::vector<float> before = Values(part);
  const auto error = [&](int worker, int64_t step, int64_t version, std::vector<float> values) {
    const absl::Status status = Push(part, worker, step, version, values).status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(Values(part), before);
    EXPECT_EQ(part.version(), 1);
    EXPECT_EQ(part.staleness().total(), 1);
    return std::string(status.message());
  };
  EXPECT_THAT(error(-1, 0, 0, {1, 1}), HasSubstr("worker -1: allowed are 0 to 1"));
  EXPECT_THAT(error(2, 0, 0, {1, 1}), HasSubstr("worker 2: allowed are 0 to 1"));
  EXPECT_THAT(error(0, 1, 1, {1}), HasSubstr("4 bytes where the part has 8"));
  EXPECT_THAT(error(0, 1, 1, {1, 1, 1}), HasSubstr("12 bytes where the part has 8"));
  EXPECT_THAT(error(0, 0, 1, {1, 1}), HasSubstr("worker 0 for step 0: its next step is 1"));
  EXPECT_THAT(error(0, 2, 1, {1, 1}), HasSubstr("its next step is 1"));
  EXPECT_THAT(error(0, -1, 1, {1, 1}), HasSubstr("its next step is 1"));
  EXPECT_THAT(error(1, 0, 2, {1, 1}), HasSubstr("version 2; there have been 0 to 1"));
  EXPECT_THAT(error(1, 0, -1, {1, 1}), HasSubstr("version -1"));
  part.Leave(1);
  EXPECT_THAT(error(1, 0, 0, {1, 1}), HasSubstr("it has left"));
  EXPECT_TRUE(Push(part, 0, 1, 1, {0, 0}).ok());
}

TEST(Shard, SyncRefusesASecondPushAndAnOldVersion) {
  ShardPart part = Part(SgdJob(proto::Strategy::ps_sync, 2), {0});
  ASSERT_TRUE(Push(part, 0, 0, 0, {1}).ok());
  EXPECT_THAT(Push(part, 0, 0, 0, {1}).status().message(), HasSubstr("its next step is 1"));
  EXPECT_THAT(Push(part, 0, 1, 0, {1}).status().message(),
              HasSubstr("its push for step 0 has not been answered"));
  ASSERT_TRUE(Push(part, 1, 0, 0, {1}).ok());
  EXPECT_THAT(Push(part, 1, 1, 0, {1}).status().message(),
              HasSubstr("computed from version 0; the present one is 1"));
}

TEST(Shard, IsInitializedOnceAndFirst) {
  const proto::Job job = SgdJob(proto::Strategy::ps_async, 1);
  ShardPart part(job, PolicyFor(job), 2, kTotalSteps);
  EXPECT_FALSE(part.initialized());
  EXPECT_THAT(Push(part, 0, 0, 0, {1, 1}).status().message(), HasSubstr("not been initialized"));
  const std::vector<float> values = {1, 2, 3};
  EXPECT_THAT(part.Initialize(Payload(std::as_bytes(std::span(values)))).message(),
              HasSubstr("12 bytes where the part has 8"));
  EXPECT_FALSE(part.initialized());
  const auto right = Payload(std::as_bytes(std::span(values).first(2)));
  EXPECT_TRUE(part.Initialize(right).ok());
  EXPECT_TRUE(part.initialized());
  EXPECT_THAT(part.Initialize(right).message(), HasSubstr("before"));
  EXPECT_THAT(Values(part), ElementsAre(1, 2));
}

TEST(Shard, APushMovesByTheRateOverTheWorkersUnlessToldOtherwise) {
  proto::Job job = SgdJob(proto::Strategy::ps_async, 2);
  ShardPart full = Part(job, {10, 20});
  ASSERT_TRUE(Push(full, 0, 0, 0, {6, 3}).ok());
  EXPECT_THAT(Values(full), ElementsAre(10 - 0.5f * 6, 20 - 0.5f * 3));
  job.mutable_ps()->clear_push_rate();
  ShardPart divided = Part(job, {10, 20});
  ASSERT_TRUE(Push(divided, 0, 0, 0, {6, 3}).ok());
  EXPECT_THAT(Values(divided), ElementsAre(10 - 0.25f * 6, 20 - 0.25f * 3));
}

proto::Job LocalSgdJob(double outer_learning_rate, double outer_momentum, int64_t first_phase) {
  proto::Job job = SgdJob(proto::Strategy::local_sgd, 2);
  job.mutable_local_sgd()->set_through(proto::LocalSgd::servers);
  job.mutable_local_sgd()->set_outer_learning_rate(outer_learning_rate);
  job.mutable_local_sgd()->set_outer_momentum(outer_momentum);
  job.mutable_local_sgd()->set_first_phase_steps(first_phase);
  return job;
}

// DiLoCo's outer optimizer, lr 0.7 and Nesterov momentum 0.9, of steps 1 towards the mean:
// v = 1, theta = 0 - 0.7 (1 + 0.9) = -1.33; v = 0.9 + 1 = 1.9, theta - 0.7 (1 + 1.71).
TEST(Shard, LocalSgdTakesDiLoCosOuterSteps) {
  ShardPart part = Part(LocalSgdJob(0.7, 0.9, 0), {0});
  ASSERT_TRUE(Push(part, 0, 0, 0, {-2}).ok());
  ASSERT_TRUE(Push(part, 1, 0, 0, {0}).ok());
  EXPECT_NEAR(Values(part)[0], -1.33, 1e-6);
  const float theta = Values(part)[0];
  ASSERT_TRUE(Push(part, 1, 1, 1, {theta - 1.5f}).ok());
  ASSERT_TRUE(Push(part, 0, 1, 1, {theta - 0.5f}).ok());
  EXPECT_NEAR(Values(part)[0], theta - 0.7 * (1 + 0.9 * 1.9), 1e-6);
}

TEST(Shard, LocalSgdAveragesParameters) {
  ShardPart part = Part(LocalSgdJob(1, 0, 0), {100, 100});
  ASSERT_TRUE(Push(part, 1, 0, 0, {1, 5}).ok());
  ASSERT_TRUE(Push(part, 0, 0, 0, {3, 6}).ok());
  EXPECT_THAT(Values(part), ElementsAre(2, 5.5f));
  EXPECT_EQ(part.version(), 1);
}

// v = mu v + (old - mean); new = old - lr (old - mean + mu v), but in the first
// phase the mean alone.
TEST(Shard, LocalSgdTakesTheOuterOptimizerAfterTheFirstPhase) {
  ShardPart part = Part(LocalSgdJob(0.5, 0.5, 1), {8});
  const auto average = [&](int64_t round, float value) {
    ASSERT_TRUE(Push(part, 0, round, round, {value - 1}).ok());
    ASSERT_TRUE(Push(part, 1, round, round, {value + 1}).ok());
  };
  average(0, 16);
  EXPECT_THAT(Values(part), ElementsAre(16));
  average(1, 12);  // g 4, v 4: 16 - 0.5 (4 + 2)
  EXPECT_THAT(Values(part), ElementsAre(13));
  average(2, 13);  // g 0, v 2: 13 - 0.5 (0 + 1)
  EXPECT_THAT(Values(part), ElementsAre(12.5f));
}

TEST(Shard, HoldsItsOptimizersStateAndBorrowsTheRest) {
  proto::Job job = SgdJob(proto::Strategy::ps_sync, 3);
  EXPECT_EQ(Part(job, {1, 2, 3}).state_bytes(), 0);
  job.mutable_optimizer()->set_name(proto::OptimizerKind::adam);
  EXPECT_EQ(Part(job, {1, 2, 3}).state_bytes(), 24);  // two moments

  job.set_deterministic(true);
  const auto pool = PartPool::Make(3);
  ShardPart ordered(job, PolicyFor(job), 3, 100, pool);
  const std::vector<float> values = {1, 1, 1};
  ASSERT_TRUE(ordered.Initialize(Payload(std::as_bytes(std::span(values)))).ok());
  EXPECT_EQ(pool->held_bytes_max(), 0);
  ASSERT_TRUE(Push(ordered, 2, 0, 0, values).ok());  // waits for its turn
  EXPECT_EQ(pool->held_bytes_max(), 12);
  ASSERT_TRUE(Push(ordered, 0, 0, 0, values).ok());  // and opens the sum
  EXPECT_EQ(pool->held_bytes_max(), 24);
  ASSERT_TRUE(Push(ordered, 1, 0, 0, values).ok());
  ASSERT_TRUE(Push(ordered, 2, 1, 1, values).ok());
  EXPECT_EQ(pool->held_bytes_max(), 24);  // all was given back with the update

  ShardPart compensated = Part(SgdJob(proto::Strategy::ps_async_dc, 5), {1, 2, 3});
  EXPECT_EQ(compensated.state_bytes(), 5 * 12);  // what each worker was given
}

TEST(ShardDeathTest, NeedsAPolicyOfOneOrAll) {
  const proto::Job job = SgdJob(proto::Strategy::ps_sync, 3);
  Policy policy = PolicyFor(job);
  policy.contributions = 2;
  EXPECT_DEATH(ShardPart(job, policy, 1, 1), "one contribution or of all");
}

}  // namespace
}  // namespace crossover::ps
