// What reduce_run makes of the servers' further policies.
#include <gtest/gtest.h>

#include <vector>

#include "experiments/report/report_fixture.h"
#include "experiments/results/reduce_run.h"

namespace crossover::experiments {
namespace {

RunResult Reduced(const proto::Job& job, const std::vector<proto::ProcessReport>& reports) {
  const absl::StatusOr<RunResult> result = ReduceRun(job, reports, RunContext());
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : RunResult();
}

// Groups make as many updates of a global batch as there are; a server that halved rates on the
// mean halves what is effective.
TEST(ReducePolicies, EffectiveRateIsOfTheUpdatesAsApplied) {
  proto::Job job = TestJob(proto::Strategy::ps_groups, 4, 1);
  std::vector<proto::ProcessReport> reports;
  for (int rank = 0; rank < 4; ++rank) {
    reports.push_back(Worker(rank, 0, {Quick(0), Quick(100)}));
  }
  reports.push_back(Server(0));
  RunResult r = Reduced(job, reports);
  EXPECT_EQ(r.updates_per_global_batch, 2);
  EXPECT_DOUBLE_EQ(r.effective_learning_rate, .2);
  job.set_strategy(proto::Strategy::ps_async_scaled);
  reports.back().mutable_server()->set_scheduled_learning_rate(.4);
  reports.back().mutable_server()->set_effective_learning_rate(.1);
  r = Reduced(job, reports);
  EXPECT_EQ(r.updates_per_global_batch, 4);
  EXPECT_DOUBLE_EQ(r.effective_learning_rate, .2 * 4 / 4);
}

// A late worker of ps_backup leaves steps out; what it did counts once.
TEST(ReducePolicies, StepsThatAWorkerLeftOutHaveNoSamples) {
  const proto::Job job = TestJob(proto::Strategy::ps_backup, 2, 1);
  const std::vector<Step> steps = {Quick(0), Quick(100), Quick(200)};
  std::vector<proto::ProcessReport> reports = {Worker(0, 0, steps), Worker(1, 0, steps), Server(0)};
  const double samples_per_second = Reduced(job, reports).samples_per_second;
  reports[1].mutable_worker()->mutable_steps()->set_step(2, 7);
  EXPECT_DOUBLE_EQ(Reduced(job, reports).samples_per_second, samples_per_second);
}

TEST(ReducePolicies, LatePushesAreOfAllServers) {
  const std::vector<Step> steps = {Quick(0), Quick(100)};
  std::vector<proto::ProcessReport> reports = {Worker(0, 0, steps), Worker(1, 0, steps), Server(0),
                                               Server(1)};
  for (const int64_t late : {0, 6}) reports[2].mutable_server()->add_late_pushes(late);
  for (const int64_t late : {1, 2}) reports[3].mutable_server()->add_late_pushes(late);
  EXPECT_EQ(Reduced(TestJob(proto::Strategy::ps_backup, 2), reports).late_pushes, 9);
}

}  // namespace
}  // namespace crossover::experiments
