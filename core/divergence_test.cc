#include "core/divergence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace crossover {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

proto::Divergence Rule(double loss_multiple, int64_t window_steps) {
  proto::Divergence rule;
  rule.set_loss_multiple(loss_multiple);
  rule.set_window_steps(window_steps);
  return rule;
}

TEST(DivergenceWatch, ALossThatIsNotFiniteIsEnough) {
  for (const double loss : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    DivergenceWatch watch(Rule(0, 50));
    EXPECT_EQ(watch.Add(2.3), "");
    EXPECT_THAT(watch.Add(loss), HasSubstr("its loss is "));
  }
}

// Means over 2: 3, 2, 1.5, 4, 6.5.
TEST(DivergenceWatch, AMeanAboveTheMultipleOfTheLowestMean) {
  DivergenceWatch watch(Rule(4, 2));
  for (const double loss : {4., 2., 2., 1., 7.}) EXPECT_EQ(watch.Add(loss), "") << loss;
  EXPECT_THAT(watch.Add(6),
              HasSubstr("mean loss over the last 2 steps is 6.5, 4.33 times its lowest, 1.5"));
}

TEST(DivergenceWatch, APeakWithinTheWindowIsNoDivergence) {
  DivergenceWatch watch(Rule(10, 50));
  for (int step = 0; step < 500; ++step) EXPECT_EQ(watch.Add(step % 50 == 49 ? 50 : 1), "");
}

TEST(DivergenceWatch, WithoutAMultipleOnlyLossesThatAreNotFiniteCount) {
  DivergenceWatch watch(Rule(0, 1));
  for (const double loss : {1., 1e30}) EXPECT_EQ(watch.Add(loss), "");
}

// Of an emulated model.
TEST(DivergenceWatch, LossesOfZeroAreFine) {
  DivergenceWatch watch(Rule(10, 2));
  for (int step = 0; step < 10; ++step) EXPECT_EQ(watch.Add(0), "");
}

TEST(DivergenceError, IsKnownByItsText) {
  const absl::Status status = DivergenceError(proto::Job(), 0, 3, "its loss is inf", {});
  EXPECT_TRUE(SaysDiverged("worker 0 at host: " + std::string(status.message())));
  EXPECT_FALSE(SaysDiverged("worker 0 was lost in step 3"));
}

TEST(DivergenceError, SaysWhoWhenWhatAndWhatToDo) {
  proto::Job job;
  job.set_strategy(proto::Strategy::ps_async);
  job.mutable_ps()->set_push_rate(proto::ParameterServer::full);
  const StrategyCounters counters = {.staleness_max = 17};
  const auto text = [&] {
    return std::string(DivergenceError(job, 2, 140, "its loss is nan", counters).message());
  };
  EXPECT_THAT(text(), AllOf(HasSubstr("worker 2 diverged in step 140: its loss is nan; "),
                            HasSubstr("staleness that it has seen is 17"),
                            HasSubstr("fix: a lower --learning_rate.base (it is 0.2)"),
                            HasSubstr("ps_ssp"), HasSubstr("--ps.push_rate=by_workers")));
  job.set_strategy(proto::Strategy::ps_ssp);
  EXPECT_THAT(text(), HasSubstr("a smaller --ps.staleness_bound (it is 3)"));
  job.set_strategy(proto::Strategy::allreduce_ring);
  EXPECT_THAT(text(), AllOf(Not(HasSubstr("staleness")), Not(HasSubstr("push_rate"))));
}

}  // namespace
}  // namespace crossover
