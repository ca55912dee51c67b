#include "experiments/dry_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover::experiments {
namespace {

using testing::HasSubstr;

// 1000 parameters (4000 bytes), 100 steps of 4 workers.
JobSize Size() {
  JobSize size;
  size.parameters = 1000;
  size.data_bytes = 1 << 20;
  size.plan = {
      .samples_per_rank = 1000, .local_batch = 100, .steps_per_epoch = 10, .total_steps = 100};
  return size;
}

proto::Job JobOf(proto::Strategy::Name strategy) {
  proto::Job job;
  job.set_strategy(strategy);
  return job;
}

TEST(SizeOfRun, BytesAreTheFormulas) {
  EXPECT_EQ(SizeOfRun(JobOf(proto::Strategy::single), Size()).bytes_per_synchronisation, 0);
  EXPECT_EQ(SizeOfRun(JobOf(proto::Strategy::ps_sync), Size()).bytes_per_synchronisation, 4000);
  EXPECT_EQ(SizeOfRun(JobOf(proto::Strategy::allreduce_ring), Size()).bytes_per_synchronisation,
            2 * 3 / 4.0 * 4000);
  proto::Job doubling = JobOf(proto::Strategy::allreduce_ring);
  doubling.mutable_allreduce()->set_algorithm(proto::AllReduce::recursive_doubling);
  EXPECT_EQ(SizeOfRun(doubling, Size()).bytes_per_synchronisation, 2 * 4000);
}

TEST(SizeOfRun, CountsProcesses) {
  EXPECT_EQ(SizeOfRun(JobOf(proto::Strategy::single), Size()).workers, 1);
  EXPECT_EQ(SizeOfRun(JobOf(proto::Strategy::allreduce_ring), Size()).servers, 0);
  EXPECT_EQ(SizeOfRun(JobOf(proto::Strategy::ps_async), Size()).servers, 2);
}

TEST(SizeOfRun, LocalSgdSynchronisesEveryH) {
  proto::Job job = JobOf(proto::Strategy::local_sgd);
  job.mutable_local_sgd()->set_first_phase_steps(0);
  EXPECT_DOUBLE_EQ(SizeOfRun(job, Size()).synchronisations_per_step, 13 / 100.0);
  job.mutable_local_sgd()->set_first_phase_steps(20);
  EXPECT_DOUBLE_EQ(SizeOfRun(job, Size()).synchronisations_per_step, (20 + 10) / 100.0);
}

TEST(SizeOfRun, MemoryGrowsWithWhatIsHeld) {
  JobSize large = Size();
  large.parameters = 100'000'000;
  const RunSize sgd = [&] {
    proto::Job job = JobOf(proto::Strategy::ps_sync);
    job.mutable_optimizer()->set_name(proto::OptimizerKind::sgd);
    return SizeOfRun(job, large);
  }();
  proto::Job adam = JobOf(proto::Strategy::ps_sync);
  adam.mutable_optimizer()->set_name(proto::OptimizerKind::adam);
  // Two states of 400 MB over two servers.
  EXPECT_EQ(SizeOfRun(adam, large).server_memory_bytes - sgd.server_memory_bytes, 400'000'000);
  EXPECT_EQ(SizeOfRun(adam, large).worker_memory_bytes, sgd.worker_memory_bytes);
}

TEST(DescribeDryRun, SaysWhatWouldBeStarted) {
  proto::Job job;
  job.mutable_comparison()->set_repetitions(2);
  const auto runs = PlanRuns({job});
  ASSERT_TRUE(runs.ok());
  const std::string text = DescribeDryRun(*runs, Size());
  EXPECT_THAT(text, HasSubstr("1000 parameters (4.0 kB of gradient a step), 100 steps of 512 "
                              "samples, 12 runs"));
  EXPECT_THAT(text, HasSubstr("allreduce_ring         4       0  6.0 kB"));
  EXPECT_THAT(text, HasSubstr("Nothing was started."));
}

TEST(DescribeDryRun, OneIsSingular) {
  proto::Job job;
  job.mutable_comparison()->set_repetitions(1);
  job.mutable_comparison()->add_strategies(proto::Strategy::ps_sync);
  const auto runs = PlanRuns({job});
  ASSERT_TRUE(runs.ok());
  const std::string text = DescribeDryRun(*runs, Size());
  EXPECT_THAT(text, HasSubstr("100 steps of 512 samples, 1 run\n"));
  EXPECT_THAT(text, HasSubstr("  4.0 kB           step "));
}

}  // namespace
}  // namespace crossover::experiments
