// The default job reaches on Fashion-MNIST what it should, under every strategy whose
// result is the large batch's (or close to it).
#include <gtest/gtest.h>

#include "tests/cluster_fixture.h"

namespace crossover::tests {
namespace {

class Accuracy : public testing::TestWithParam<proto::Strategy::Name> {};

TEST_P(Accuracy, DefaultJobReaches88Percent) {
  proto::Job job;  // all defaults
  job.set_strategy(GetParam());
  const absl::StatusOr<Outcome> outcome =
      RunJob(job, "accuracy-" + proto::Strategy::Name_Name(GetParam()));
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const proto::WorkerReport& report = outcome->reports.front().worker();
  ASSERT_EQ(report.evaluations_size(), 6) << "one at the end of every epoch";
  EXPECT_GE(report.evaluations(5).accuracy(), 0.88);
  EXPECT_GT(report.evaluations(0).accuracy(), 0.5);
}

INSTANTIATE_TEST_SUITE_P(All, Accuracy,
                         testing::Values(proto::Strategy::single, proto::Strategy::ps_sync,
                                         proto::Strategy::allreduce_ring,
                                         proto::Strategy::local_sgd),
                         [](const auto& info) { return proto::Strategy::Name_Name(info.param); });

}  // namespace
}  // namespace crossover::tests
