// Histories worked out by hand of the policies beyond sync, bounded, async and local steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "ps/shard.h"
#include "ps/shard_testing.h"

namespace crossover::ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  EXPECT_EQ(part.state_bytes(), 0);  // no copies
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
  EXPECT_EQ(part.state_bytes(), 0);
  EXPECT_EQ(part.rates().contributions, 0);
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

}  // namespace
}  // namespace crossover::ps
