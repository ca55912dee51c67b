#include "ps/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace crossover::ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kTotalSteps = 10;

// Plain SGD with a rate of `learning_rate` at every step.
proto::Job SgdJob(proto::Strategy::Name strategy, int workers, double learning_rate = 0.5) {
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

ShardPart Part(const proto::Job& job, std::vector<float> parameters) {
  ShardPart part(job, PolicyFor(job), static_cast<int64_t>(parameters.size()), kTotalSteps);
  EXPECT_TRUE(part.Initialize(Payload(std::as_bytes(std::span(parameters)))).ok());
  return part;
}

absl::StatusOr<PushResult> Push(ShardPart& part, int worker, int64_t step, int64_t version,
                                const std::vector<float>& values) {
  return part.Push(worker, step, version, Payload(std::as_bytes(std::span(values))));
}

std::vector<float> Values(const ShardPart& part) {
  return {part.parameters().begin(), part.parameters().end()};
}

std::vector<int> Workers(const std::vector<Release>& released) {
  std::vector<int> workers;
  for (const Release& release : released) workers.push_back(release.worker);
  return workers;
}

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

proto::Job ClipJob(int workers, double clip_norm) {
  proto::Job job = SgdJob(proto::Strategy::ps_sync, workers);
  job.mutable_optimizer()->set_clip_norm(clip_norm);
  return job;
}

// Two parts with the means (3, 0) and (0, 4), whose norm is 5.
TEST(Shard, ClippedMeansWaitForTheNormOfAllParts) {
  const proto::Job job = ClipJob(2, 1);
  ShardPart one = Part(job, {10, 20});
  ShardPart two = Part(job, {30, 40});
  EXPECT_THAT(Push(one, 0, 0, 0, {2, 1})->told_squares, IsEmpty());
  EXPECT_THAT(Push(two, 0, 0, 0, {1, 5})->told_squares, IsEmpty());
  for (ShardPart* const part : {&one, &two}) {
    const auto last =
        Push(*part, 1, 0, 0, part == &one ? std::vector<float>{4, -1} : std::vector<float>{-1, 3});
    ASSERT_TRUE(last.ok()) << last.status();
    EXPECT_THAT(last->told_squares, ElementsAre(0, 1));
    EXPECT_FALSE(last->applied);
    EXPECT_THAT(last->released, IsEmpty());
    EXPECT_EQ(part->version(), 0);
  }
  EXPECT_EQ(one.squares().Norm(), 3);
  EXPECT_EQ(two.squares().Norm(), 4);
  SquareSum squares = one.squares();
  squares.Add(two.squares());
  const auto first = one.GiveNorm(1, 0, squares.Norm());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(Workers(*first), ElementsAre(1));  // worker 0 has yet to ask
  const auto factor = static_cast<float>(1 / 5.000001);
  EXPECT_THAT(Values(one), ElementsAre(10 - 0.5f * (3 * factor), 20));
  EXPECT_THAT(Values(two), ElementsAre(30, 40));
  ASSERT_TRUE(two.GiveNorm(1, 0, squares.Norm()).ok());
  EXPECT_THAT(Values(two), ElementsAre(30, 40 - 0.5f * (4 * factor)));
  EXPECT_EQ(two.version(), 1);
}

// The next step's pushes come before a slow worker has asked for this step's parameters.
TEST(Shard, NormsOfAStepMayComeWhileTheNextIsPushed) {
  ShardPart part = Part(ClipJob(2, 100), {1});
  ASSERT_TRUE(Push(part, 0, 0, 0, {1}).ok());
  ASSERT_TRUE(Push(part, 1, 0, 0, {1}).ok());
  ASSERT_TRUE(part.GiveNorm(0, 0, 1).ok());
  EXPECT_THAT(Values(part), ElementsAre(0.5f));  // short enough: not clipped
  const auto early = Push(part, 0, 1, 1, {8});
  ASSERT_TRUE(early.ok()) << early.status();
  const auto slow = part.GiveNorm(1, 0, 1);
  ASSERT_TRUE(slow.ok()) << slow.status();
  ASSERT_THAT(Workers(*slow), ElementsAre(1));
  EXPECT_EQ(slow->front().step, 0);
  EXPECT_EQ(slow->front().version, 1);
  EXPECT_THAT(Values(part), ElementsAre(0.5f));
  EXPECT_THAT(Push(part, 1, 1, 1, {0})->told_squares, ElementsAre(0, 1));
  EXPECT_EQ(part.squares().Norm(), 4);
}

TEST(Shard, RefusesNormsOutOfTurn) {
  ShardPart part = Part(ClipJob(2, 1), {1});
  EXPECT_THAT(part.GiveNorm(0, 0, 1).status().message(), HasSubstr("no update waits for it"));
  ASSERT_TRUE(Push(part, 0, 0, 0, {1}).ok());
  EXPECT_THAT(part.GiveNorm(0, 0, 1).status().message(), HasSubstr("no update waits for it"));
  ASSERT_TRUE(Push(part, 1, 0, 0, {1}).ok());
  EXPECT_THAT(Push(part, 1, 1, 0, {1}).status().message(), HasSubstr("has not been answered"));
  EXPECT_THAT(part.GiveNorm(0, 1, 1).status().message(), HasSubstr("no update waits for it"));
  ASSERT_TRUE(part.GiveNorm(0, 0, 1).ok());
  EXPECT_THAT(part.GiveNorm(0, 0, 1).status().message(), HasSubstr("no update waits for it"));
  EXPECT_THAT(part.GiveNorm(1, 0, 2).status().message(),
              HasSubstr("norm of worker 1 for step 0: 2, but others gave 1"));
  EXPECT_TRUE(part.GiveNorm(1, 0, 1).ok());
}

// A worker that contributed and left is told nothing, and the others go on.
TEST(Shard, NormsDoNotNeedTheWorkersThatLeft) {
  ShardPart part = Part(ClipJob(2, 100), {1});
  ASSERT_TRUE(Push(part, 0, 0, 0, {1}).ok());
  EXPECT_THAT(part.Leave(0).stranded, IsEmpty());
  EXPECT_THAT(Push(part, 1, 0, 0, {1})->told_squares, ElementsAre(1));
  EXPECT_THAT(Workers(*part.GiveNorm(1, 0, 1)), ElementsAre(1));
  EXPECT_THAT(Values(part), ElementsAre(0.5f));
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

proto::Job BackupJob(int workers, int backup_workers) {
  proto::Job job = SgdJob(proto::Strategy::ps_backup, workers);
  job.mutable_ps()->set_backup_workers(backup_workers);
  return job;
}

// Rate 0.5: 10 - 0.5 (2 + 4) / 2 = 8.5; worker 2's gradient of step 0 comes late; from its reply
// it computes for step 1, which it closes with worker 0: 8.5 - 0.5 (1 + 3) / 2 = 7.5; worker 1 is
// late.
TEST(Shard, BackupWorkersAreLateOnceAndCountAgain) {
  ShardPart part = Part(BackupJob(3, 1), {10});
  EXPECT_THAT(Push(part, 0, 0, 0, {2})->released, IsEmpty());
  const auto closing = Push(part, 1, 0, 0, {4});
  ASSERT_TRUE(closing.ok()) << closing.status();
  EXPECT_TRUE(closing->applied);
  EXPECT_THAT(Workers(closing->released), ElementsAre(0, 1));
  EXPECT_THAT(Values(part), ElementsAre(8.5f));

  const auto late = Push(part, 2, 0, 0, {1000});
  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_TRUE(late->late);
  EXPECT_FALSE(late->applied);
  EXPECT_EQ(late->staleness, 1);
  ASSERT_THAT(Workers(late->released), ElementsAre(2));
  EXPECT_TRUE(late->released[0].late);
  EXPECT_EQ(late->released[0].version, 1);
  EXPECT_THAT(Values(part), ElementsAre(8.5f));

  ASSERT_TRUE(Push(part, 2, 1, 1, {1}).ok());
  const auto second = Push(part, 0, 1, 1, {3});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(Workers(second->released), ElementsAre(0, 2));
  EXPECT_FALSE(second->released[1].late);
  EXPECT_THAT(Values(part), ElementsAre(7.5f));
  EXPECT_TRUE(Push(part, 1, 1, 1, {1000})->late);
  EXPECT_THAT(Values(part), ElementsAre(7.5f));
  EXPECT_EQ(part.version(), 2);
  EXPECT_THAT(part.staleness().counts(), ElementsAre(4));  // of what was applied
  EXPECT_EQ(part.rates().contributions, 4);
}

// Worker 1 comes with its step 0 after three steps have closed, goes on with step 3, and cannot
// go back.
TEST(Shard, BackupWorkersGoOnWithTheOpenStep) {
  proto::Job job = BackupJob(2, 1);
  job.mutable_learning_rate()->set_warmup_steps(4);  // rates 0, 1/8, 2/8, 3/8, 1/2
  ShardPart part = Part(job, {8});
  for (int step = 0; step < 3; ++step) ASSERT_TRUE(Push(part, 0, step, step, {8}).ok());
  EXPECT_THAT(Values(part), ElementsAre(5));
  EXPECT_EQ(Push(part, 1, 0, 0, {1000})->released[0].version, 3);
  const auto counted = Push(part, 1, 3, 3, {8});
  ASSERT_TRUE(counted.ok()) << counted.status();
  EXPECT_TRUE(counted->applied);
  EXPECT_THAT(Values(part), ElementsAre(2));
  EXPECT_THAT(Push(part, 1, 2, 4, {8}).status().message(),
              HasSubstr("its next step is 4 or a later one"));
}

// Parts close apart. A worker whose oldest version is that of the last step pushes all parts; no
// one is to wait for a step that will never be.
TEST(Shard, BackupWorkersDoNotWaitPastTheLastStep) {
  ShardPart part = Part(BackupJob(3, 1), {0});
  for (int step = 0; step < kTotalSteps; ++step) {
    ASSERT_TRUE(Push(part, 0, step, step, {1}).ok());
    ASSERT_TRUE(Push(part, 1, step, step, {1}).ok());
  }
  EXPECT_TRUE(Push(part, 2, 0, 0, {1})->late);
  part.Leave(0);
  part.Leave(1);
  const auto past = Push(part, 2, kTotalSteps - 1, kTotalSteps, {1});
  ASSERT_TRUE(past.ok()) << past.status();
  EXPECT_TRUE(past->late);
  EXPECT_THAT(Workers(past->released), ElementsAre(2));
  EXPECT_EQ(part.version(), kTotalSteps);
}

TEST(Shard, BackupWorkersMayLeaveButNotMoreThanThereAre) {
  ShardPart part = Part(BackupJob(4, 1), {0});
  ASSERT_TRUE(Push(part, 0, 0, 0, {1}).ok());
  EXPECT_TRUE(part.Leave(3).failure.ok());
  EXPECT_TRUE(part.Leave(0).failure.ok());  // it has contributed to step 0
  const LeaveResult result = part.Leave(2);
  EXPECT_THAT(result.failure.message(), HasSubstr("worker 2 left after 0 steps; step 0 needs the "
                                                  "contributions of 3 of the 4 workers"));
  EXPECT_FALSE(Push(part, 1, 0, 0, {1}).ok());
}

// Rate 0.5, lambda 0.25. Worker 0 from (8, 8): 8 - 0.5 x 4 = 6, 8 + 0.5 x 2 = 9. Worker 1 from
// (8, 8) too: 4 + 0.25 x 16 x (6 - 8) = -4, so 6 + 2 = 8; -2 + 0.25 x 4 x (9 - 8) = -1, so 9.5.
// Worker 1 from its reply (8, 9.5), which is the present one: 2 as it is, so 7; 8.5.
TEST(Shard, DelayIsCompensatedFromWhatTheWorkerWasGiven) {
  proto::Job job = SgdJob(proto::Strategy::ps_async_dc, 2);
  job.mutable_ps()->set_delay_compensation(0.25);
  ShardPart part = Part(job, {8, 8});
  ASSERT_TRUE(Push(part, 0, 0, 0, {4, -2}).ok());
  EXPECT_THAT(Values(part), ElementsAre(6, 9));
  EXPECT_EQ(Push(part, 1, 0, 0, {4, -2})->staleness, 1);
  EXPECT_THAT(Values(part), ElementsAre(8, 9.5f));
  EXPECT_EQ(Push(part, 1, 1, 2, {2, 2})->staleness, 0);
  EXPECT_THAT(Values(part), ElementsAre(7, 8.5f));
  // Worker 0 was last given (6, 9): 2 + 0.25 x 4 x (7 - 6) = 3; 2 + 0.25 x 4 x (8.5 - 9) = 1.5.
  ASSERT_TRUE(Push(part, 0, 1, 1, {2, 2}).ok());
  EXPECT_THAT(Values(part), ElementsAre(5.5f, 7.75f));
}

// Worker 1 first pulls when worker 0 has pushed: 4 + 1 x 16 x (5 - 6) = -12, not from 8.
TEST(Shard, DelayIsCompensatedFromALaterPull) {
  proto::Job job = SgdJob(proto::Strategy::ps_async_dc, 2);
  job.mutable_ps()->set_delay_compensation(1);
  ShardPart part = Part(job, {8});
  ASSERT_TRUE(Push(part, 0, 0, 0, {4}).ok());
  part.NotePull(1);
  ASSERT_TRUE(Push(part, 0, 1, 1, {2}).ok());
  ASSERT_TRUE(Push(part, 1, 0, 1, {4}).ok());
  EXPECT_THAT(Values(part), ElementsAre(5 - 0.5f * -12));
}

TEST(Shard, NoCompensationIsPlainAsync) {
  proto::Job job = SgdJob(proto::Strategy::ps_async_dc, 2);
  job.mutable_ps()->set_delay_compensation(0);
  ShardPart part = Part(job, {8});
  ASSERT_TRUE(Push(part, 0, 0, 0, {4}).ok());
  ASSERT_TRUE(Push(part, 1, 0, 0, {4}).ok());
  EXPECT_THAT(Values(part), ElementsAre(4));
  EXPECT_EQ(part.state_bytes(), 4);  // no copies
}

// Rate 0.5, divided by 1 at staleness 0 and 1, by 3 at staleness 3, whatever ps.push_rate.
TEST(Shard, RateFallsWithStaleness) {
  proto::Job job = SgdJob(proto::Strategy::ps_async_scaled, 3);
  job.mutable_ps()->clear_push_rate();
  ShardPart part = Part(job, {12});
  ASSERT_TRUE(Push(part, 0, 0, 0, {2}).ok());
  EXPECT_THAT(Values(part), ElementsAre(11));
  EXPECT_EQ(Push(part, 1, 0, 0, {2})->staleness, 1);
  EXPECT_THAT(Values(part), ElementsAre(10));
  ASSERT_TRUE(Push(part, 0, 1, 1, {2}).ok());
  EXPECT_THAT(Values(part), ElementsAre(9));
  EXPECT_EQ(Push(part, 2, 0, 0, {12})->staleness, 3);
  EXPECT_THAT(Values(part), ElementsAre(7));
  EXPECT_EQ(part.rates().contributions, 4);
  EXPECT_DOUBLE_EQ(part.rates().scheduled, 4 * 0.5);
  EXPECT_DOUBLE_EQ(part.rates().effective, 3 * 0.5 + 0.5 / 3);
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

// alpha 0.25: 8 + 0.25 (16 - 8) = 10; 10 + 0.25 (-2 - 10) = 7; nobody waits, and no worker is
// bound to the centre's version.
TEST(Shard, ElasticAveragingMovesTheCentreTowardsEachPush) {
  proto::Job job = SgdJob(proto::Strategy::ps_elastic, 2);
  job.mutable_ps()->set_elastic_rate(0.25);
  ShardPart part = Part(job, {8});
  const auto first = Push(part, 0, 0, 0, {16});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(Workers(first->released), ElementsAre(0));
  EXPECT_THAT(Values(part), ElementsAre(10));
  EXPECT_EQ(Push(part, 1, 0, 0, {-2})->staleness, 1);
  EXPECT_THAT(Values(part), ElementsAre(7));
  EXPECT_EQ(part.version(), 2);
  EXPECT_EQ(part.state_bytes(), 4);
  EXPECT_EQ(part.rates().contributions, 0);
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

// Four workers in two groups, each mean at half the rate: 8 - 0.25 x 4 = 7; 7 - 0.25 x 2 = 6.5.
TEST(Shard, GroupsPushThroughTheirFirst) {
  proto::Job job = SgdJob(proto::Strategy::ps_groups, 4);
  job.mutable_ps()->clear_push_rate();
  ShardPart part = Part(job, {8});
  const auto first = Push(part, 2, 0, 0, {4});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(Workers(first->released), ElementsAre(2));
  EXPECT_EQ(first->released[0].lead_steps, 1);
  EXPECT_THAT(Values(part), ElementsAre(7));
  EXPECT_THAT(Push(part, 1, 0, 0, {4}).status().message(),
              HasSubstr("worker 0 pushes for its group"));
  const auto second = Push(part, 0, 0, 0, {2});
  EXPECT_EQ(second->staleness, 1);
  EXPECT_EQ(second->released[0].lead_steps, 0);  // over groups, not over workers
  EXPECT_THAT(Values(part), ElementsAre(6.5f));
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
