#include "ps/policy.h"

#include <gtest/gtest.h>

namespace crossover::ps {
namespace {

proto::Job JobWith(proto::Strategy::Name strategy) {
  proto::Job job;
  job.set_strategy(strategy);
  job.set_workers(3);
  return job;
}

TEST(Policy, SyncWaitsForAll) {
  const Policy policy = PolicyFor(JobWith(proto::Strategy::ps_sync));
  EXPECT_EQ(policy.workers, 3);
  EXPECT_EQ(policy.contributions, 3);
  EXPECT_EQ(policy.lead_steps_max, 0);
  EXPECT_EQ(policy.pushed, Pushed::kGradients);
  EXPECT_FALSE(policy.rank_order);
}

TEST(Policy, BackupWorkersCloseAStepWithoutTheSlowest) {
  proto::Job job = JobWith(proto::Strategy::ps_backup);
  job.mutable_ps()->set_backup_workers(2);
  const Policy policy = PolicyFor(job);
  EXPECT_EQ(policy.contributions, 1);
  EXPECT_TRUE(policy.drops_late);
  EXPECT_EQ(policy.lead_steps_max, Policy::kUnbounded);
  EXPECT_EQ(OpenStep(policy, 3, 7), 7);
  EXPECT_EQ(OpenStep(PolicyFor(JobWith(proto::Strategy::ps_async)), 3, 7), 4);
}

TEST(Policy, BoundedStalenessTakesTheBound) {
  proto::Job job = JobWith(proto::Strategy::ps_ssp);
  EXPECT_EQ(PolicyFor(job).lead_steps_max, 3);
  job.mutable_ps()->set_staleness_bound(0);
  EXPECT_EQ(PolicyFor(job).lead_steps_max, 0);
  EXPECT_EQ(PolicyFor(job).contributions, 1);
}

TEST(Policy, AsyncWaitsForNobody) {
  const Policy policy = PolicyFor(JobWith(proto::Strategy::ps_async));
  EXPECT_EQ(policy.contributions, 1);
  EXPECT_EQ(policy.lead_steps_max, Policy::kUnbounded);
}

TEST(Policy, AsyncMayCorrectAPushByItsDelay) {
  proto::Job job = JobWith(proto::Strategy::ps_async_dc);
  EXPECT_EQ(PolicyFor(job).contributions, 1);
  EXPECT_EQ(PolicyFor(job).lead_steps_max, Policy::kUnbounded);
  EXPECT_EQ(PolicyFor(job).delay_compensation, 0.04);
  EXPECT_FALSE(PolicyFor(job).rate_falls_with_staleness);
  const Policy scaled = PolicyFor(JobWith(proto::Strategy::ps_async_scaled));
  EXPECT_EQ(scaled.contributions, 1);
  EXPECT_EQ(scaled.delay_compensation, 0);
  EXPECT_TRUE(scaled.rate_falls_with_staleness);
}

TEST(Policy, ElasticAveragingDrawsTheCentre) {
  const Policy policy = PolicyFor(JobWith(proto::Strategy::ps_elastic));
  EXPECT_EQ(policy.contributions, 1);
  EXPECT_EQ(policy.lead_steps_max, Policy::kUnbounded);
  EXPECT_EQ(policy.pushed, Pushed::kParameters);
  EXPECT_DOUBLE_EQ(policy.elastic_rate, 0.3);  // 0.9 / 3
  EXPECT_EQ(PolicyFor(JobWith(proto::Strategy::local_sgd)).elastic_rate, 0);
}

TEST(Policy, TheFirstOfEachGroupPushes) {
  proto::Job job = JobWith(proto::Strategy::ps_groups);
  job.set_workers(6);
  const Policy policy = PolicyFor(job);
  EXPECT_EQ(policy.contributions, 1);
  EXPECT_EQ(policy.lead_steps_max, Policy::kUnbounded);
  for (int worker = 0; worker < 6; ++worker) EXPECT_EQ(Pushes(policy, worker), worker % 3 == 0);
  EXPECT_TRUE(Pushes(PolicyFor(JobWith(proto::Strategy::ps_async)), 1));
}

TEST(Policy, LocalSgdAveragesParameters) {
  const Policy policy = PolicyFor(JobWith(proto::Strategy::local_sgd));
  EXPECT_EQ(policy.contributions, 3);
  EXPECT_EQ(policy.pushed, Pushed::kParameters);
}

TEST(Policy, DeterministicSumsInRankOrder) {
  for (const auto strategy : {proto::Strategy::ps_sync, proto::Strategy::local_sgd}) {
    proto::Job job = JobWith(strategy);
    job.set_deterministic(true);
    EXPECT_TRUE(PolicyFor(job).rank_order);
  }
}

TEST(PolicyDeathTest, HasNoPolicyWithoutServers) {
  EXPECT_DEATH(PolicyFor(JobWith(proto::Strategy::single)), "without servers");
  EXPECT_DEATH(PolicyFor(JobWith(proto::Strategy::allreduce_ring)), "without servers");
}

}  // namespace
}  // namespace crossover::ps
