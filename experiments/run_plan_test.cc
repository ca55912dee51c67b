#include "experiments/run_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "core/job.h"

namespace crossover::experiments {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Names(const std::vector<PlannedRun>& runs) {
  std::vector<std::string> names;
  for (const PlannedRun& run : runs) names.push_back(run.name);
  return names;
}

TEST(RunPlan, InterleavesAndRotatesTheStrategies) {
  proto::Job job;
  job.mutable_comparison()->add_strategies(proto::Strategy::ps_sync);
  job.mutable_comparison()->add_strategies(proto::Strategy::allreduce_ring);
  job.mutable_comparison()->set_repetitions(2);
  auto runs = PlanRuns({job});
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_THAT(Names(*runs), ElementsAre("001-ps_sync-mlp-r1", "002-allreduce_ring-mlp-r1",
                                        "003-allreduce_ring-mlp-r2", "004-ps_sync-mlp-r2"));
}

TEST(RunPlan, ARepetitionsSeedIsTheSameForAllStrategies) {
  proto::Job job;
  job.set_seed(7);
  job.mutable_comparison()->set_repetitions(2);
  auto runs = PlanRuns({job});
  ASSERT_TRUE(runs.ok()) << runs.status();
  for (const PlannedRun& run : *runs) {
    EXPECT_EQ(run.job.seed(), 7u + static_cast<uint64_t>(run.repetition)) << run.name;
  }
}

TEST(RunPlan, TakesAllStrategiesWhereNoneIsNamed) {
  proto::Job job;
  job.mutable_comparison()->set_repetitions(1);
  auto runs = PlanRuns({job});
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_EQ(runs->size(), 6u);
}

TEST(RunPlan, DeterministicModeLeavesOutWhatItExcludesUnlessNamed) {
  proto::Job job;
  job.set_deterministic(true);
  job.mutable_comparison()->set_repetitions(1);
  for (proto::Strategy::Name strategy : ComparedStrategies(job)) {
    EXPECT_NE(strategy, proto::Strategy::ps_async);
    EXPECT_NE(strategy, proto::Strategy::ps_ssp);
  }
  job.mutable_comparison()->add_strategies(proto::Strategy::ps_async);
  auto runs = PlanRuns({job});
  ASSERT_FALSE(runs.ok());
  EXPECT_THAT(std::string(runs.status().message()), HasSubstr("under ps_async"));
}

TEST(RunPlan, RunsEveryJobWithinARepetition) {
  proto::Job mlp;
  mlp.mutable_comparison()->add_strategies(proto::Strategy::single);
  mlp.mutable_comparison()->set_repetitions(2);
  proto::Job lenet = mlp;
  lenet.set_model(proto::Model::lenet);
  auto runs = PlanRuns({mlp, lenet});
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_THAT(Names(*runs), ElementsAre("001-single-mlp-r1", "002-single-lenet-r1",
                                        "003-single-mlp-r2", "004-single-lenet-r2"));
}

TEST(LenetJob, IsTheOneOfTheSpec) {
  const char* path = "experiments/specs/lenet.textproto";
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto spec = ParseJob(text, path);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(LenetJob(proto::Job()).learning_rate().base(), spec->learning_rate().base());
  EXPECT_EQ(JobFingerprint(LenetJob(proto::Job())), JobFingerprint(*spec));
}

TEST(LenetJob, KeepsARateThatWasChosen) {
  proto::Job job;
  job.mutable_learning_rate()->set_base(0.3);
  EXPECT_EQ(LenetJob(job).learning_rate().base(), 0.3);
  EXPECT_EQ(LenetJob(job).model(), proto::Model::lenet);
}

TEST(RunPlan, NamesTheStrategyThatCannotRunTheJob) {
  proto::Job job;
  job.set_servers(0);
  auto runs = PlanRuns({job});
  ASSERT_FALSE(runs.ok());
  EXPECT_THAT(std::string(runs.status().message()), HasSubstr("servers"));
}

}  // namespace
}  // namespace crossover::experiments
