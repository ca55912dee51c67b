#include "core/kept_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(KeptStepsTest, TheMiddleTheFirstMeasuredAndTheLast) {
  proto::Job job;
  job.mutable_measure()->set_warmup_steps(20);
  EXPECT_THAT(PicturedSteps(job, 100), ElementsAre(50, 51, 52));
  EXPECT_THAT(KeptSteps(job, 100), ElementsAre(20, 50, 51, 52, 99));
}

TEST(KeptStepsTest, TwoRoundsOfLocalStepsAtMostThirtyTwo) {
  proto::Job job;
  job.set_strategy(proto::Strategy::local_sgd);
  job.mutable_local_sgd()->set_local_steps(2);
  EXPECT_THAT(PicturedSteps(job, 100), ElementsAre(50, 51, 52, 53));
  job.mutable_local_sgd()->set_local_steps(1000);
  EXPECT_THAT(PicturedSteps(job, 10000), SizeIs(32));
}

TEST(KeptStepsTest, AShortTrainingHasEachStepOnce) {
  proto::Job job;
  job.mutable_measure()->set_warmup_steps(20);
  EXPECT_THAT(KeptSteps(job, 1), ElementsAre(0));
  EXPECT_THAT(KeptSteps(job, 3), ElementsAre(1, 2));
  EXPECT_THAT(KeptSteps(job, 0), ElementsAre());
}

}  // namespace
}  // namespace crossover
