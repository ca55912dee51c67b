#include "experiments/prediction/prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "core/job.h"
#include "experiments/prediction/prediction_inputs.h"
#include "experiments/results/result_fixture.h"

namespace crossover::experiments {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kB = 125e6;  // bytes/s: 1 Gbit/s

std::string PrintedJob(proto::Strategy::Name strategy,
                       const std::function<void(proto::Job&)>& change = nullptr) {
  proto::Job job;
  job.set_strategy(strategy);
  if (change) change(job);
  return PrintJob(WithDefaults(job));
}

ProbedNode Node(const std::string& name, double bytes_per_s = kB, double rtt_us = 500) {
  return {name, bytes_per_s, bytes_per_s, bytes_per_s, rtt_us};
}

// 4 workers and 2 servers (where the strategy has them) in a lab of 1 Gbit/s: 10 MB in two
// buckets, ready at half and all of the compute.
RunResult LabRun(const std::string& strategy, proto::Strategy::Name name) {
  const bool servers = name == proto::Strategy::ps_sync || name == proto::Strategy::ps_ssp ||
                       name == proto::Strategy::ps_async;
  RunResult run = MadeUpRun(strategy, servers ? 2 : 0, 0, 40000, .88);
  run.resolved_job = PrintedJob(name, [](proto::Job& job) { job.mutable_ps()->set_part_bytes(4); });
  run.environment.cores = 16;
  run.network.kind = "lab: kernel qdiscs";
  run.network.loopback = false;
  run.network.placement = "dedicated";
  for (int rank = 0; rank < 4; ++rank) {
    run.network.probe.push_back(Node("worker" + std::to_string(rank)));
  }
  for (int rank = 0; rank < run.servers; ++rank) {
    run.network.probe.push_back(Node("server" + std::to_string(rank)));
  }
  run.model_bytes = 10'000'000;
  run.buckets = {{4'000'000, .5}, {6'000'000, 1}};
  for (ServerFigures& server : run.server_figures) server.apply_ms_per_step = 0;
  return run;
}

// 4 shards of 10 ms compute and 1 ms data, 2 ms of update.
RunResult SingleRun() {
  RunResult run = LabRun("single", proto::Strategy::single);
  run.breakdown = {40, 0, 0, 4, 2, 0};
  return run;
}

Prediction Predicted1(const RunResult& run, const RunResult* single) {
  const Predicted predicted = Predict(run, single);
  EXPECT_EQ(predicted.why_none, "");
  return predicted.prediction.value_or(Prediction());
}

TEST(PredictionTest, RingFromTheSingleRunAndTheProbe) {
  const RunResult single = SingleRun();
  RunResult run = LabRun("allreduce_ring", proto::Strategy::allreduce_ring);
  const Prediction prediction = Predicted1(run, &single);
  // T = 6 x 0.25 ms + 1.5 m/B: 49.5 and 73.5 ms; c = 5 + 49.5 + 73.5 = 128.
  EXPECT_NEAR(prediction.cost.step_ms, 1 + 128 + 2, 1e-6);
  EXPECT_NEAR(prediction.cost.compute_ms, 10, 1e-9);
  EXPECT_NEAR(prediction.cost.exposed_ms, 118, 1e-6);
  EXPECT_THAT(prediction.formula, HasSubstr("2(N-1) alpha"));
  EXPECT_THAT(prediction.formula, HasSubstr("from the single run, per shard"));
  EXPECT_THAT(prediction.formula, HasSubstr("buckets ready where the run's exchanges began"));
}

TEST(PredictionTest, EachBucketByTheAlgorithmThatCarriedIt) {
  const RunResult single = SingleRun();
  RunResult run = LabRun("allreduce_ring", proto::Strategy::allreduce_ring);
  run.buckets[0].algorithm = "recursive_doubling";
  run.buckets[1].algorithm = "ring";
  // 2 x 0.25 ms + 2 m/B = 64.5 ms, then the ring's 73.5 ms.
  EXPECT_NEAR(Predicted1(run, &single).cost.step_ms, 1 + 5 + 64.5 + 73.5 + 2, 1e-6);
  run.buckets[1].algorithm = "hierarchical";
  EXPECT_EQ(Predict(run, &single).why_none, "no formula here for the algorithm hierarchical");
  run.buckets[1].algorithm = "shared_memory";
  EXPECT_EQ(Predict(run, &single).why_none, "the formulas are of networks, not of shared memory");
}

TEST(PredictionTest, OlderLinesGoByTheirJob) {
  const RunResult single = SingleRun();
  RunResult run = LabRun("allreduce_ring", proto::Strategy::allreduce_ring);
  const auto with = [&run](const std::function<void(proto::AllReduce&)>& change) {
    run.resolved_job = PrintedJob(proto::Strategy::allreduce_ring,
                                  [&change](proto::Job& job) { change(*job.mutable_allreduce()); });
  };
  with([](proto::AllReduce& a) { a.set_algorithm(proto::AllReduce::recursive_doubling); });
  EXPECT_NEAR(Predicted1(run, &single).cost.step_ms, 1 + 5 + 64.5 + 96.5 + 2, 1e-6);
  with([](proto::AllReduce& a) { a.set_algorithm(proto::AllReduce::automatic); });
  EXPECT_EQ(Predict(run, &single).why_none, "no formula here for the algorithm automatic");
  with([](proto::AllReduce& a) { a.set_transport(proto::Transport::automatic); });
  EXPECT_EQ(Predict(run, &single).why_none, "the formulas are of networks, not of shared memory");
  with([](proto::AllReduce& a) { a.set_transport(proto::Transport::grpc); });
  EXPECT_EQ(Predict(run, &single).why_none, "");
}

TEST(PredictionTest, ServersUpdateInTheWorkersPlace) {
  const RunResult single = SingleRun();
  RunResult run = LabRun("ps_sync", proto::Strategy::ps_sync);
  Prediction prediction = Predicted1(run, &single);
  // T = 4 m / (2 B): 64 and 96 ms; then two latencies (a part of 4 bytes takes no time).
  EXPECT_NEAR(prediction.cost.step_ms, 1 + 5 + 64 + 96 + .5, 1e-3);
  // Servers that sum and apply 4 x 5 MB in 250 ms: 80 MB/s each.
  for (ServerFigures& server : run.server_figures) {
    server.parameter_bytes = 5'000'000;
    server.apply_ms_per_step = 250;
  }
  prediction = Predicted1(run, &single);
  EXPECT_NEAR(prediction.cost.step_ms, 1 + 5 + 100 + 150 + .5, 1e-3);
  EXPECT_THAT(prediction.formula, HasSubstr("r 80.0 MB/s"));
}

TEST(PredictionTest, TheServersLinkIsTheirOwn) {
  const RunResult single = SingleRun();
  RunResult run = LabRun("ps_sync", proto::Strategy::ps_sync);
  for (ProbedNode& node : run.network.probe) {
    if (node.name == "server1") node.receive_bytes_per_s = kB / 2;
    node.rtt_us = 0;
  }
  EXPECT_NEAR(Predicted1(run, &single).cost.step_ms, 1 + 5 + 2 * (64 + 96), 1e-3);
  // Colocated: no node of their own. Node 0 sends half of its pushes and 3/2 of replies.
  run.network.probe.resize(4);
  run.network.placement = "colocated";
  EXPECT_NEAR(Predicted1(run, &single).cost.step_ms, 1 + 5 + 2 * (32 + 48), 1e-3);
}

TEST(PredictionTest, ClippingServersAnswerOnceAllIsPushed) {
  const RunResult single = SingleRun();
  RunResult run = LabRun("ps_sync", proto::Strategy::ps_sync);
  run.resolved_job = PrintedJob(proto::Strategy::ps_sync, [](proto::Job& job) {
    job.mutable_ps()->set_part_bytes(4);
    job.mutable_optimizer()->set_clip_norm(1);
  });
  // Twice 64 and 96 ms.
  EXPECT_NEAR(Predicted1(run, &single).cost.step_ms, 1 + 5 + 128 + 192 + .5, 1e-3);
}

TEST(PredictionTest, AWorkerThatClipsPushesAtTheEndOfItsCompute) {
  const RunResult single = SingleRun();
  RunResult run = LabRun("ps_ssp", proto::Strategy::ps_ssp);
  const double in_turn_ms = Predicted1(run, &single).cost.step_ms;
  run.resolved_job = PrintedJob(proto::Strategy::ps_ssp, [](proto::Job& job) {
    job.mutable_ps()->set_part_bytes(4);
    job.mutable_optimizer()->set_clip_norm(1);
  });
  run.buckets[0].ready_share = 1;
  const double at_end_ms = Predicted1(run, &single).cost.step_ms;
  run.buckets[0].ready_share = .5;
  EXPECT_NEAR(Predicted1(run, &single).cost.step_ms, at_end_ms, 1e-9);
  EXPECT_GE(at_end_ms, in_turn_ms);
}

TEST(PredictionTest, AsyncIsBoundedByTheServers) {
  const RunResult single = SingleRun();
  const RunResult run = LabRun("ps_async", proto::Strategy::ps_async);
  // N D = 4 x 10 MB / (2 B).
  EXPECT_NEAR(Predicted1(run, &single).cost.step_ms, 160, 1e-3);
}

TEST(PredictionTest, LocalStepsPayInTheStepsThatAverage) {
  const RunResult single = SingleRun();
  RunResult run = LabRun("local_sgd", proto::Strategy::local_sgd);
  run.buckets = {{10'000'000, 1}};
  run.resolved_job = PrintedJob(proto::Strategy::local_sgd, [](proto::Job& job) {
    job.mutable_local_sgd()->set_first_phase_steps(40);
    job.mutable_local_sgd()->set_local_steps(10);
  });
  run.steps = 120;
  run.warmup_steps_left_out = 20;
  // Averages after 20 to 39 and after 40, 50, ..., 110: 28 of 100 steps; T = 121.5 ms.
  EXPECT_NEAR(Predicted1(run, &single).cost.step_ms, 1 + 10 + 2 + .28 * 121.5, 1e-6);
}

TEST(PredictionTest, WorkersShareTheCoresOfOneMachine) {
  const RunResult single = SingleRun();
  RunResult run = LabRun("allreduce_ring", proto::Strategy::allreduce_ring);
  run.environment.cores = 2;
  const Prediction prediction = Predicted1(run, &single);
  EXPECT_NEAR(prediction.cost.compute_ms, 20, 1e-9);
  EXPECT_THAT(prediction.formula, HasSubstr("times 2.00 for 4 workers on 2 cores"));
  run.network.kind = "hosts";
  EXPECT_NEAR(Predicted1(run, &single).cost.compute_ms, 10, 1e-9);
}

TEST(PredictionTest, WithoutASingleRunTheRunsOwnComputeServes) {
  RunResult run = LabRun("allreduce_ring", proto::Strategy::allreduce_ring);
  run.breakdown.compute_ms = 30;
  run.environment.cores = 2;
  const Prediction prediction = Predicted1(run, nullptr);
  EXPECT_NEAR(prediction.cost.compute_ms, 30, 1e-9);
  EXPECT_THAT(prediction.formula, HasSubstr("since there is no single run"));
}

TEST(PredictionTest, NoProbeNoPrediction) {
  const RunResult single = SingleRun();
  RunResult run = LabRun("allreduce_ring", proto::Strategy::allreduce_ring);
  run.network.probe.clear();
  Predicted predicted = Predict(run, &single);
  EXPECT_FALSE(predicted.prediction.has_value());
  EXPECT_THAT(predicted.why_none, HasSubstr("not probed"));
  run.network.probe = {Node("worker0", 0)};
  EXPECT_THAT(Predict(run, &single).why_none, HasSubstr("no rate at worker0"));
  EXPECT_THAT(Predict(single, &single).why_none, HasSubstr("the base"));
  run.resolved_job = "nonsense";
  EXPECT_FALSE(Predict(run, &single).why_none.empty());
}

TEST(PredictionTest, TheJobsSlowWorkerIsPredicted) {
  const RunResult single = SingleRun();
  RunResult run = LabRun("allreduce_ring", proto::Strategy::allreduce_ring);
  const auto with_straggler = [](int burst_steps) {
    return PrintedJob(proto::Strategy::allreduce_ring, [=](proto::Job& job) {
      job.mutable_straggler()->set_rank(2);
      job.mutable_straggler()->set_factor(3);
      job.mutable_straggler()->set_burst_steps(burst_steps);
      job.mutable_straggler()->set_burst_share(.25);
    });
  };
  run.resolved_job = with_straggler(0);
  // The slow worker's buckets are ready after 30 ms.
  EXPECT_NEAR(Predicted1(run, &single).cost.step_ms, 1 + 30 + 49.5 + 73.5 + 2, 1e-6);
  run.resolved_job = with_straggler(5);
  EXPECT_NEAR(Predicted1(run, &single).cost.step_ms, .25 * 156 + .75 * 131, 1e-6);
}

// Forward 3 ms, backward 6: the last layer has 3/4 of the bytes.
proto::Emulated ThreeLayers() {
  proto::Emulated emulated;
  for (const int64_t bytes : {1000, 0, 3000}) {
    proto::Layer& layer = *emulated.add_layers();
    layer.set_forward_ms(1);
    layer.set_backward_ms(2);
    layer.set_gradient_bytes(bytes);
  }
  return emulated;
}

TEST(PredictionTest, LayersSayWhenBucketsAreReady) {
  EXPECT_THAT(ReadyShares(ThreeLayers(), {3000, 1000}), ElementsAre(5. / 9, 1));
  EXPECT_THAT(ReadyShares(ThreeLayers(), {4000}), ElementsAre(1));
  // A bucket that needs a part of a layer needs all of its backward pass.
  EXPECT_THAT(ReadyShares(ThreeLayers(), {1500, 1600, 900}), ElementsAre(5. / 9, 1, 1));
  EXPECT_THAT(ReadyShares(ThreeLayers(), {}), ElementsAre());
}

TEST(PredictionTest, AnEmulatedJobHasItsComputeFromTheLayers) {
  RunResult run = LabRun("allreduce_ring", proto::Strategy::allreduce_ring);
  run.resolved_job = PrintedJob(proto::Strategy::allreduce_ring, [](proto::Job& job) {
    job.set_model(proto::Model::emulated);
    *job.mutable_emulated() = ThreeLayers();
    job.mutable_emulated()->set_compute_speed(.5);
  });
  run.breakdown.data_ms = run.breakdown.apply_ms = 0;
  run.environment.cores = 1;  // waiting contends for no core
  run.buckets = {{7'500'000, .1}, {2'500'000, .2}};
  const Prediction prediction = Predicted1(run, nullptr);
  EXPECT_NEAR(prediction.cost.compute_ms, 18, 1e-9);
  // Ready at 10 and 18 ms; T = 1.5 + 90 and 1.5 + 30.
  EXPECT_NEAR(prediction.cost.step_ms, 10 + 91.5 + 31.5, 1e-6);
}

TEST(PredictionTest, RowsHaveMediansAndTheTypicalRunsWords) {
  std::vector<RunResult> runs;
  for (int repetition = 0; repetition < 3; ++repetition) {
    RunResult single = SingleRun();
    single.breakdown.compute_ms = 40 + 4 * repetition;
    RunResult ring = LabRun("allreduce_ring", proto::Strategy::allreduce_ring);
    ring.step_ms_mean = 132 + repetition;
    ring.communication_share = .9;
    single.repetition = ring.repetition = repetition;
    runs.push_back(single);
    runs.push_back(ring);
  }
  const std::vector<Study> studies = GroupResults(runs);
  ASSERT_EQ(studies.size(), 1u);
  const std::vector<PredictionRow> rows = PredictionRows(studies[0]);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].strategy, "single");
  EXPECT_FALSE(rows[0].predicted_step_ms.has_value());
  EXPECT_THAT(rows[0].formula, HasSubstr("the base"));
  EXPECT_EQ(rows[1].strategy, "allreduce_ring");
  EXPECT_EQ(rows[1].measured_step_ms, 133);
  // Each repetition from its own single run: Z of 10, 11, 12 ms.
  EXPECT_NEAR(rows[1].predicted_step_ms.value_or(0), 131.5, 1e-6);
  EXPECT_NEAR(rows[1].predicted_share.value_or(0), 117.5 / 131.5, 1e-6);
  EXPECT_EQ(rows[1].difference, "");
  EXPECT_THAT(rows[1].formula, Not(HasSubstr("the base")));
}

TEST(PredictionTest, AReasonIsGivenWhereTheyPart) {
  const RunResult single = SingleRun();
  RunResult run = LabRun("allreduce_ring", proto::Strategy::allreduce_ring);
  run.step_ms_mean = 200;
  run.straggler.reset();
  run.compute_ms = 60;
  EXPECT_THAT(Predicted1(run, &single).difference, HasSubstr("compute took 60.0 ms instead of 10"));
}

}  // namespace
}  // namespace crossover::experiments
