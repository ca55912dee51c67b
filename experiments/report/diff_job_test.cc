#include "experiments/report/diff_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/job.h"

namespace crossover::experiments {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Texts(const proto::Job& a, const proto::Job& b) {
  std::vector<std::string> texts;
  for (const FieldDifference& field : DiffJobs(a, b)) texts.push_back(Describe(field));
  return texts;
}

TEST(DiffJobsTest, NamesTheFieldsThatDifferInTheirOrder) {
  const proto::Job a = WithDefaults(proto::Job());
  EXPECT_THAT(DiffJobs(a, a), IsEmpty());
  proto::Job b = a;
  b.set_seed(7);
  b.mutable_learning_rate()->set_base(0.1);
  b.set_strategy(proto::Strategy::ps_async);
  EXPECT_THAT(Texts(a, b), ElementsAre("seed: 1, then 7", "learning_rate.base: 0.2, then 0.1",
                                       "strategy: ps_sync, then ps_async"));
}

TEST(DiffJobsTest, ComparesListsAsWholesAndTellsUnsetFromSet) {
  proto::Job a = WithDefaults(proto::Job());
  proto::Job b = a;
  b.mutable_comparison()->add_strategies(proto::Strategy::single);
  b.mutable_comparison()->add_strategies(proto::Strategy::local_sgd);
  b.mutable_local_sgd()->set_first_phase_steps(0);
  EXPECT_THAT(Texts(a, b), ElementsAre("local_sgd.first_phase_steps: unset, then 0",
                                       "comparison.strategies: [], then [single, local_sgd]"));
}

}  // namespace
}  // namespace crossover::experiments
