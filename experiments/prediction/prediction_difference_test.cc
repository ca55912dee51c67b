#include "experiments/prediction/prediction_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover::experiments {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::StartsWith;

// 150 ms where 100 were predicted: 60 of compute, 40 exposed.
class DifferenceTest : public ::testing::Test {
 protected:
  DifferenceTest() {
    cost_.step_ms = 100;
    cost_.compute_ms = 60;
    cost_.exposed_ms = 40;
    cost_.communication_share = .4;
    cost_.exchange_ms = 50;
    cost_.latency_ms = 1;
    run_.strategy = "ps_sync";
    run_.workers = 2;
    run_.servers = 2;
    run_.steps = 100;
    run_.wall_s = 10;
    run_.environment.cores = 16;
    run_.step_ms_mean = 150;
    run_.compute_ms = 60;
    run_.exposed_ms = 90;
    run_.communication_share = .6;
    run_.buckets = {{1'000'000, 1}};
    run_.processes = {{"worker 0", "", 0, 2}, {"server 0", "", 0, 3}, {"server 1", "", 0, 2}};
    run_.worker_figures.resize(2);
    run_.worker_figures[1].rank = 1;
  }

  Difference Of(double rest_ms = 0, bool slow_worker = false) const {
    return MakeDifference(run_, cost_, rest_ms, slow_worker);
  }

  Cost cost_;
  RunResult run_;
};

TEST_F(DifferenceTest, AgreementIsWithinFifteenPercent) {
  EXPECT_FALSE(Agrees(run_, cost_));
  run_.step_ms_mean = 114;
  run_.communication_share = .45;
  EXPECT_TRUE(Agrees(run_, cost_));
  run_.communication_share = .47;
  EXPECT_FALSE(Agrees(run_, cost_));
  run_.step_ms_mean = 86;
  run_.communication_share = .4;
  EXPECT_TRUE(Agrees(run_, cost_));
  run_.step_ms_mean = 84;
  EXPECT_FALSE(Agrees(run_, cost_));
  // Small shares differ by much of themselves and mean nothing.
  run_.step_ms_mean = 100;
  cost_.communication_share = .01;
  run_.communication_share = .035;
  EXPECT_TRUE(Agrees(run_, cost_));
}

TEST_F(DifferenceTest, TheExcessIsOfTheStepElseOfTheExposed) {
  EXPECT_DOUBLE_EQ(Of().excess_ms, 50);
  run_.step_ms_mean = 105;
  run_.exposed_ms = 70;
  EXPECT_DOUBLE_EQ(Of().excess_ms, 30);
}

TEST_F(DifferenceTest, NothingExplainsIt) {
  EXPECT_EQ(ExplainDifference(Of()), "nothing in the run's figures explains it");
}

TEST_F(DifferenceTest, Straggler) {
  run_.straggler = StragglerFigures{3, .5, 32, "compute", false};
  EXPECT_THAT(StragglerReason(Of()),
              Optional(AllOf(HasSubstr("straggler: worker 3 is 32.0 ms behind"),
                             HasSubstr("in 50.0% of steps"), HasSubstr("by its compute"))));
  EXPECT_EQ(StragglerReason(Of(0, true)), std::nullopt);
  run_.straggler->within_clock_error = true;
  EXPECT_EQ(StragglerReason(Of()), std::nullopt);
  run_.straggler = StragglerFigures{3, .5, 28, "none", false};
  EXPECT_EQ(StragglerReason(Of()), std::nullopt);
  run_.straggler->share_of_steps.reset();
  EXPECT_THAT(StragglerReason(Of()), Optional(HasSubstr("worker 3")));
}

TEST_F(DifferenceTest, StalenessHold) {
  EXPECT_EQ(StalenessHoldReason(Of()), std::nullopt);
  run_.worker_figures[0].held_ms = 1000;
  run_.worker_figures[1].held_ms = 3000;
  EXPECT_THAT(StalenessHoldReason(Of()),
              Optional(HasSubstr("for 20.0 ms a step, worker 1's longest")));
  run_.worker_figures[1].held_ms = 1000;
  EXPECT_EQ(StalenessHoldReason(Of()), std::nullopt);
}

TEST_F(DifferenceTest, Imbalance) {
  run_.shard_imbalance = 1.4;
  EXPECT_THAT(ImbalanceReason(Of()), Optional(HasSubstr("1.40 times the mean")));
  run_.shard_imbalance = 1.05;
  EXPECT_EQ(ImbalanceReason(Of()), std::nullopt);
}

TEST_F(DifferenceTest, ComputeAndContention) {
  EXPECT_EQ(ComputeReason(Of()), std::nullopt);
  run_.compute_ms = 80;
  EXPECT_THAT(ComputeReason(Of()), Optional(HasSubstr("compute took 80.0 ms instead of")));
  run_.environment.cores = 2;
  EXPECT_THAT(ComputeReason(Of()), Optional(HasSubstr("contention: ")));
  run_.network.kind = "hosts";
  EXPECT_THAT(ComputeReason(Of()), Optional(StartsWith("compute took")));
  // Faster than predicted, by compute that was.
  run_.step_ms_mean = 70;
  run_.compute_ms = 35;
  EXPECT_THAT(ComputeReason(Of()), Optional(HasSubstr("35.0 ms instead of 60.0 ms")));
  run_.compute_ms = 80;
  EXPECT_EQ(ComputeReason(Of()), std::nullopt);
}

TEST_F(DifferenceTest, RestOfTheStep) {
  run_.breakdown.data_ms = 10;
  run_.breakdown.other_ms = 10;
  EXPECT_THAT(RestReason(Of(2)), Optional(HasSubstr("took 20.0 ms instead of 2.00 ms")));
  EXPECT_EQ(RestReason(Of(10)), std::nullopt);
}

TEST_F(DifferenceTest, ServerCpu) {
  EXPECT_EQ(ServerCpuReason(Of()), std::nullopt);
  run_.processes[2].cpu_s = 8;
  EXPECT_THAT(ServerCpuReason(Of()), Optional(HasSubstr("server CPU: server 1 used 80.0%")));
  run_.step_ms_mean = 70;
  EXPECT_EQ(ServerCpuReason(Of()), std::nullopt);
}

TEST_F(DifferenceTest, ContentionForTheMachine) {
  EXPECT_EQ(ContentionReason(Of()), std::nullopt);
  run_.environment.cores = 1;
  run_.processes[0].cpu_s = 4;
  EXPECT_THAT(ContentionReason(Of()), Optional(HasSubstr("3 processes used 90.0%")));
  run_.network.kind = "hosts";
  EXPECT_EQ(ContentionReason(Of()), std::nullopt);
}

TEST_F(DifferenceTest, Latency) {
  EXPECT_EQ(LatencyReason(Of()), std::nullopt);
  cost_.latency_ms = 20;
  EXPECT_THAT(LatencyReason(Of()), Optional(HasSubstr("latency: 20.0 ms of the exchange's 50")));
}

TEST_F(DifferenceTest, SmallBuckets) {
  EXPECT_EQ(SmallBucketsReason(Of()), std::nullopt);
  run_.buckets = {{100'000, .5}, {60'000, 1}};
  EXPECT_THAT(SmallBucketsReason(Of()), Optional(HasSubstr("40.0 kB")));
  run_.buckets.clear();
  EXPECT_EQ(SmallBucketsReason(Of()), std::nullopt);
}

TEST_F(DifferenceTest, TheFirstTwoReasonsAreGiven) {
  run_.compute_ms = 80;
  run_.processes[1].cpu_s = 9;
  cost_.latency_ms = 50;
  EXPECT_EQ(ExplainDifference(Of()),
            "compute took 80.0 ms instead of 60.0 ms; server CPU: server 0 used 90.0% of "
            "a core over the run");
}

}  // namespace
}  // namespace crossover::experiments
