#include "experiments/prediction/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace crossover::experiments {
namespace {

constexpr double kM = 80e6;      // bytes
constexpr double kB = 1e9;       // bytes/s
constexpr double kZ = .1;        // s
constexpr double kAlpha = .001;  // s

// N workers with one bucket that is ready at the end of 100 ms of compute.
CostInputs OneBucket(Exchange exchange, int workers, int servers = 0) {
  CostInputs inputs;
  inputs.exchange = exchange;
  inputs.workers = workers;
  inputs.servers = servers;
  inputs.buckets = {{kM, kZ}};
  inputs.compute_s = kZ;
  inputs.link = {kB, kB, kB, kB, 0};
  return inputs;
}

TEST(CostModelTest, SingleComputesEveryShard) {
  CostInputs inputs = OneBucket(Exchange::kNone, 4);
  inputs.data_s = .002;
  inputs.update_s = .003;
  const Cost cost = CostOfStep(inputs);
  EXPECT_NEAR(cost.step_ms, 4 * 102 + 3, 1e-9);
  EXPECT_NEAR(cost.compute_ms, 400, 1e-9);
  EXPECT_EQ(cost.exposed_ms, 0);
  EXPECT_EQ(cost.communication_share, 0);
}

TEST(CostModelTest, RingMatchesItsClosedForm) {
  CostInputs inputs = OneBucket(Exchange::kRing, 4);
  inputs.link.latency_s = kAlpha;
  inputs.reduce_s_per_byte = 1e-10;
  // 2 x 3 messages, 1.5 x 80 MB at 1 GB/s, 0.75 x 80 MB at 0.1 ns.
  const double t = .006 + .120 + .006;
  EXPECT_NEAR(ExchangeTime(inputs, kM, 4), t, 1e-12);
  const Cost cost = CostOfStep(inputs);
  EXPECT_NEAR(cost.step_ms, 232, 1e-9);
  EXPECT_NEAR(cost.exposed_ms, 132, 1e-9);
  EXPECT_NEAR(cost.communication_share, 132. / 232, 1e-12);
  EXPECT_NEAR(cost.exchange_ms, 132, 1e-9);
  EXPECT_NEAR(cost.latency_ms, 6, 1e-9);
}

TEST(CostModelTest, TheRingGoesAtTheSlowerDirection) {
  CostInputs inputs = OneBucket(Exchange::kRing, 2);
  inputs.link.worker_receive_bytes_per_s = kB / 2;
  EXPECT_NEAR(ExchangeTime(inputs, kM, 2), .160, 1e-12);
}

TEST(CostModelTest, DirectHasTheRingsBytesAndTwoLatencies) {
  CostInputs inputs = OneBucket(Exchange::kDirect, 4);
  inputs.link.latency_s = kAlpha;
  EXPECT_NEAR(ExchangeTime(inputs, kM, 4), .122, 1e-12);
}

TEST(CostModelTest, EachAlgorithmHasItsClosedForm) {
  struct Case {
    Exchange exchange;
    int workers;
    double messages, bytes, combined;  // of M
  };
  const Case cases[] = {
      {Exchange::kHalvingDoubling, 8, 6, 2 * 7 / 8., 7 / 8.},
      {Exchange::kHalvingDoubling, 6, 4 + 2, 2 * 3 / 4. + 1, 3 / 4. + 1},
      {Exchange::kRecursiveDoubling, 8, 3, 3, 3},
      {Exchange::kRecursiveDoubling, 6, 2 + 2, 2 + 1, 2 + 1},
      {Exchange::kTree, 6, 6, 3, 3},
      {Exchange::kOneStep, 6, 1, 5, 5},
      {Exchange::kHalvingDoubling, 1, 0, 0, 0},
      {Exchange::kTree, 1, 0, 0, 0},
  };
  for (const Case& c : cases) {
    CostInputs inputs = OneBucket(c.exchange, c.workers);
    inputs.link.latency_s = kAlpha;
    inputs.reduce_s_per_byte = 1e-10;
    const double t = c.messages * kAlpha + c.bytes * kM / kB + c.combined * kM * 1e-10;
    EXPECT_NEAR(ExchangeTime(inputs, kM, c.workers), t, 1e-12) << c.workers;
    EXPECT_NEAR(CostOfStep(inputs).latency_ms, c.messages * kAlpha * 1e3, 1e-9) << c.workers;
  }
}

TEST(CostModelTest, BucketsGoByAlgorithmsOfTheirOwn) {
  CostInputs inputs = OneBucket(Exchange::kRing, 4);
  inputs.link.latency_s = kAlpha;
  inputs.buckets = {{kM, 0}, {kM / 1000, kZ, Exchange::kRecursiveDoubling}};
  const Cost cost = CostOfStep(inputs);
  // 6 messages and 1.5 M/B; 2 messages and 2 M/1000 B.
  EXPECT_NEAR(cost.exchange_ms, 6 + 120 + 2 + .16, 1e-9);
  EXPECT_NEAR(cost.latency_ms, 8, 1e-9);
  EXPECT_NE(cost.formula.find("of buckets by ring; T = p (alpha"), std::string::npos);
}

TEST(CostModelTest, OneWorkerExchangesNothingInARing) {
  const Cost cost = CostOfStep(OneBucket(Exchange::kRing, 1));
  EXPECT_NEAR(cost.step_ms, 100, 1e-9);
  EXPECT_EQ(cost.exposed_ms, 0);
}

TEST(CostModelTest, DedicatedServersTakeTheLargestOfThreeTimes) {
  // Servers' links: 8 x 80 MB / (2 x 1 GB/s).
  EXPECT_NEAR(ExchangeTime(OneBucket(Exchange::kServers, 8, 2), kM, 8), .320, 1e-12);
  // Workers' links, from S = N on.
  EXPECT_NEAR(ExchangeTime(OneBucket(Exchange::kServers, 8, 8), kM, 8), .080, 1e-12);
  EXPECT_NEAR(ExchangeTime(OneBucket(Exchange::kServers, 8, 16), kM, 8), .080, 1e-12);
  // Servers' processors: 8 x 80 MB / (8 x 0.5 GB/s).
  CostInputs slow = OneBucket(Exchange::kServers, 8, 8);
  slow.apply_bytes_per_s = .5e9;
  EXPECT_NEAR(ExchangeTime(slow, kM, 8), .160, 1e-12);
  // A barrier between push and pull: both ways one after the other.
  CostInputs barrier = OneBucket(Exchange::kServers, 8, 8);
  barrier.pipelined = false;
  EXPECT_NEAR(ExchangeTime(barrier, kM, 8), .160, 1e-12);
}

TEST(CostModelTest, ManyServersBeatARingByUpToTwo) {
  const double ring = ExchangeTime(OneBucket(Exchange::kRing, 8), kM, 8);
  const double servers = ExchangeTime(OneBucket(Exchange::kServers, 8, 8), kM, 8);
  EXPECT_NEAR(ring / servers, 2 * 7 / 8., 1e-12);
}

TEST(CostModelTest, ColocatedServersOneEachCostTheRingsTime) {
  CostInputs colocated = OneBucket(Exchange::kServers, 4, 4);
  colocated.colocated = true;
  EXPECT_NEAR(ExchangeTime(colocated, kM, 4), ExchangeTime(OneBucket(Exchange::kRing, 4), kM, 4),
              1e-12);
}

TEST(CostModelTest, OneColocatedServerSendsToAllButItsOwnWorker) {
  CostInputs colocated = OneBucket(Exchange::kServers, 4, 1);
  colocated.colocated = true;
  EXPECT_NEAR(ExchangeTime(colocated, kM, 4), 3 * .080, 1e-12);
  // Three servers on two nodes: the first holds two of them and sends a third of its pushes
  // and two thirds of a reply.
  CostInputs uneven = OneBucket(Exchange::kServers, 2, 3);
  uneven.colocated = true;
  EXPECT_NEAR(ExchangeTime(uneven, kM, 2), .080, 1e-12);
  // One worker and its server on one node: no network.
  CostInputs alone = OneBucket(Exchange::kServers, 1, 1);
  alone.colocated = true;
  EXPECT_NEAR(ExchangeTime(alone, kM, 1), 0, 1e-12);
}

TEST(CostModelTest, TheLastPartPassesThroughAServer) {
  CostInputs inputs = OneBucket(Exchange::kServers, 4, 4);
  inputs.link.latency_s = kAlpha;
  inputs.part_bytes = 1e6;
  // 80 ms of transfer, 2 alpha, and four workers' last part of 1 MB through one link.
  EXPECT_NEAR(CostOfStep(inputs).step_ms, 100 + 80 + 2 + 4, 1e-9);
  EXPECT_NEAR(CostOfStep(inputs).latency_ms, 2, 1e-9);
  // A part is no larger than a server's share of the bucket.
  inputs.part_bytes = 1e9;
  EXPECT_NEAR(CostOfStep(inputs).step_ms, 100 + 80 + 2 + 80, 1e-9);
}

TEST(CostModelTest, BucketsOverlapWithComputeByTheRecursion) {
  CostInputs inputs = OneBucket(Exchange::kServers, 4, 4);
  // T = 20, 50, 10 ms; ready at 40, 70, 100.
  inputs.buckets = {{20e6, .040}, {50e6, .070}, {10e6, .100}};
  // c = 60, 120, 130.
  Cost cost = CostOfStep(inputs);
  EXPECT_NEAR(cost.step_ms, 130, 1e-9);
  EXPECT_NEAR(cost.exposed_ms, 30, 1e-9);
  // A link ten times as fast hides all but the last bucket: c = 42, 75, 101.
  inputs.link = {10 * kB, 10 * kB, 10 * kB, 10 * kB, 0};
  EXPECT_NEAR(CostOfStep(inputs).step_ms, 101, 1e-9);
  // Communication that ends before compute does costs nothing.
  inputs.buckets = {{20e6, .040}};
  cost = CostOfStep(inputs);
  EXPECT_NEAR(cost.step_ms, 100, 1e-9);
  EXPECT_EQ(cost.exposed_ms, 0);
}

TEST(CostModelTest, DataAndUpdateLieOutsideComputeAndCommunication) {
  CostInputs inputs = OneBucket(Exchange::kRing, 4);
  inputs.data_s = .010;
  inputs.update_s = .005;
  const Cost cost = CostOfStep(inputs);
  EXPECT_NEAR(cost.step_ms, 10 + 100 + 120 + 5, 1e-9);
  EXPECT_NEAR(cost.exposed_ms, 120, 1e-9);
}

TEST(CostModelTest, AllWaitForTheSlowest) {
  CostInputs inputs = OneBucket(Exchange::kRing, 4);
  inputs.slowest_factor = 3;
  const Cost cost = CostOfStep(inputs);
  EXPECT_NEAR(cost.step_ms, 300 + 120, 1e-9);
  EXPECT_NEAR(cost.compute_ms, (3 * 100 + 300) / 4., 1e-9);
  EXPECT_NEAR(cost.exposed_ms, 420 - 150, 1e-9);
}

TEST(CostModelTest, ASlowWorkersBucketsAreReadyAtItsEndOrInTurn) {
  CostInputs inputs = OneBucket(Exchange::kServers, 4, 4);
  inputs.buckets = {{50e6, .050}, {30e6, .100}};
  inputs.slowest_factor = 2;
  // Both at 200 ms, or at 100 and 200 ms.
  EXPECT_NEAR(CostOfStep(inputs).step_ms, 280, 1e-9);
  inputs.slowest_in_turn = true;
  EXPECT_NEAR(CostOfStep(inputs).step_ms, 230, 1e-9);
}

// Throughput in steps per second of all workers together.
double Throughput(const CostInputs& inputs) {
  return inputs.workers / (CostOfStep(inputs).step_ms / 1e3);
}

TEST(CostModelTest, AsyncThroughputHasItsKneeWhereTheServersAreBusy) {
  // D = 80 MB / (8 x 1 GB/s) = 10 ms of all servers for a push; a worker's link is no limit.
  for (const int workers : {1, 4, 11, 12, 13, 24}) {
    CostInputs inputs = OneBucket(Exchange::kServers, workers, 8);
    inputs.pace = Pace::kAsync;
    inputs.link.worker_send_bytes_per_s = inputs.link.worker_receive_bytes_per_s = 100 * kB;
    const double d = .010;
    EXPECT_NEAR(Throughput(inputs), std::min(workers / (kZ + d), 1 / d), 1e-9) << workers;
    inputs.pipelined = false;
    EXPECT_NEAR(Throughput(inputs), std::min(workers / (kZ + 2 * d), 1 / d), 1e-9) << workers;
  }
}

TEST(CostModelTest, AsyncLetsTheOthersGoAheadOfASlowWorkerAndABoundDoesNot) {
  CostInputs inputs = OneBucket(Exchange::kServers, 4, 8);
  inputs.link.worker_send_bytes_per_s = inputs.link.worker_receive_bytes_per_s = 100 * kB;
  inputs.slowest_factor = 2;
  inputs.pace = Pace::kAsync;
  EXPECT_NEAR(CostOfStep(inputs).step_ms, (3 * 110 + 210) / 4., 1e-9);
  inputs.pace = Pace::kBoundedStale;
  EXPECT_NEAR(CostOfStep(inputs).step_ms, 210, 1e-9);
}

TEST(CostModelTest, LocalStepsPayForTheShareThatExchanges) {
  CostInputs inputs = OneBucket(Exchange::kRing, 4);
  inputs.pace = Pace::kLocalSteps;
  inputs.update_s = .004;
  inputs.exchanged_share = 1. / 8;
  const Cost cost = CostOfStep(inputs);
  EXPECT_NEAR(cost.step_ms, 100 + 4 + 120 / 8., 1e-9);
  EXPECT_NEAR(cost.exposed_ms, 15, 1e-9);
  inputs.exchanged_share = 0;
  EXPECT_NEAR(CostOfStep(inputs).step_ms, 104, 1e-9);
}

TEST(CostModelTest, TheFormulaComesWithItsFigures) {
  CostInputs inputs = OneBucket(Exchange::kServers, 4, 2);
  inputs.link.latency_s = .00025;
  const std::string text = CostOfStep(inputs).formula;
  EXPECT_EQ(text,
            "T = max(m/Bw, N m/(S Bs), N m/(S r)); N = 4, S = 2, Bw 1.00 GB/s, Bs 1.00 GB/s, "
            "alpha 0.250 ms; M = 80.0 MB in 1 bucket, all T together 160 ms; step = max(Z 100 ms, "
            "c 260 ms) = 260 ms");
}

}  // namespace
}  // namespace crossover::experiments
