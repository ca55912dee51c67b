// An emulated model as real processes: it needs no data, waits at least its profile's times, sends
// what the formulas say of its gradients, and has no accuracy.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/job.h"
#include "core/strategy_traits.h"
#include "tests/cluster_fixture.h"

namespace crossover::tests {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStepMs = 18;

// Three layers of 2 ms forward and 4 ms backward, 400,000 gradient bytes each.
proto::Job EmulatedJob(proto::Strategy::Name strategy) {
  proto::Job job;
  job.set_name("emulated");
  job.set_model(proto::Model::emulated);
  job.mutable_data()->set_path("nowhere");
  for (const char* name : {"first", "middle", "last"}) {
    proto::Layer& layer = *job.mutable_emulated()->add_layers();
    layer.set_name(name);
    layer.set_forward_ms(2);
    layer.set_backward_ms(4);
    layer.set_gradient_bytes(400'000);
  }
  job.mutable_emulated()->set_bytes_scale(10);
  job.set_strategy(strategy);
  job.set_workers(2);
  job.set_servers(1);
  job.set_global_batch(8);
  job.set_steps(10);
  job.set_epochs(0);
  job.mutable_measure()->set_warmup_steps(2);
  return WithDefaults(job);
}

class Emulated : public testing::TestWithParam<proto::Strategy::Name> {};

TEST_P(Emulated, WaitsAndSendsAsTheProfileSays) {
  const proto::Job job = EmulatedJob(GetParam());
  const auto outcome = RunJob(job, StrategyName(GetParam()));
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const int workers = WorkerProcesses(job);
  const int64_t shards = job.workers() / workers;
  for (int rank = 0; rank < workers; ++rank) {
    const proto::WorkerReport& report = outcome->reports[rank].worker();
    EXPECT_EQ(report.evaluations_size(), 0);
    EXPECT_EQ(report.parameter_count(), 30'000);
    ASSERT_EQ(report.steps().step_size(), 10);
    for (int step = 0; step < 10; ++step) {
      EXPECT_GE(report.steps().compute_ns(step), shards * kStepMs * kMs) << rank << " " << step;
      EXPECT_EQ(report.steps().samples(step), 4 * shards);
    }
    EXPECT_EQ(
        static_cast<double>(report.payload_sent_bytes()),
        BytesPerSynchronisation(job, 120'000) * static_cast<double>(report.synchronisations()));
    EXPECT_EQ(outcome->parameters[rank], outcome->parameters[0]);
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, Emulated,
                         testing::Values(proto::Strategy::single, proto::Strategy::ps_sync,
                                         proto::Strategy::allreduce_ring),
                         [](const auto& info) { return StrategyName(info.param); });

// What all workers sent is what the algorithm's closed form says, and the worker tells what it
// used.
class Ledger : public testing::TestWithParam<proto::AllReduce::Algorithm> {};

TEST_P(Ledger, IsTheFormulaOfTheAlgorithm) {
  proto::Job job = EmulatedJob(proto::Strategy::allreduce_ring);
  job.set_workers(3);
  job.set_global_batch(9);
  job.mutable_allreduce()->set_algorithm(GetParam());
  const std::string name = proto::AllReduce::Algorithm_Name(GetParam());
  const auto outcome = RunJob(job, "ledger-" + name);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  double sent = 0, received = 0;
  for (const proto::ProcessReport& process : outcome->reports) {
    const proto::WorkerReport& report = process.worker();
    sent += static_cast<double>(report.payload_sent_bytes());
    received += static_cast<double>(report.payload_received_bytes());
    ASSERT_EQ(report.all_reduces_size(), 1);
    EXPECT_EQ(report.all_reduces(0).algorithm(), name);
  }
  const double formula = 10 * 3 * BytesPerSynchronisation(job, 120'000);
  EXPECT_DOUBLE_EQ(sent, formula);
  EXPECT_DOUBLE_EQ(received, formula);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Ledger,
                         testing::Values(proto::AllReduce::ring, proto::AllReduce::direct,
                                         proto::AllReduce::halving_doubling,
                                         proto::AllReduce::recursive_doubling,
                                         proto::AllReduce::tree, proto::AllReduce::hierarchical),
                         [](const auto& info) {
                           return proto::AllReduce::Algorithm_Name(info.param);
                         });

TEST(EmulatedLedger, AutomaticTakesForEachBucketWhatTheJobsFitSays) {
  proto::Job job = EmulatedJob(proto::Strategy::allreduce_ring);
  job.set_workers(3);
  job.set_global_batch(9);
  job.mutable_buckets()->set_first_bytes(400'000);  // scaled: 40,000 bytes, and 80,000 of the rest
  job.mutable_allreduce()->set_algorithm(proto::AllReduce::automatic);
  proto::TransportCosts& costs = *job.mutable_allreduce()->add_costs();
  costs.set_transport("tcp");
  // 3 steps and 2 M of recursive doubling beside the ring's 4 steps and 4/3 M: even at 60,000
  // bytes.
  costs.set_alpha_us(40);
  costs.set_message_us(1000);
  costs.set_beta_us_per_byte(1e-3);
  costs.set_gamma_us_per_byte(0);
  const auto outcome = RunJob(job, "ledger-automatic");
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  double sent = 0;
  for (const proto::ProcessReport& process : outcome->reports) {
    const proto::WorkerReport& report = process.worker();
    sent += static_cast<double>(report.payload_sent_bytes());
    ASSERT_EQ(report.all_reduces_size(), 2);
    EXPECT_EQ(report.all_reduces(0).algorithm(), "recursive_doubling");
    EXPECT_GE(report.all_reduces(0).up_to_bytes(), 40'000);
    EXPECT_LT(report.all_reduces(0).up_to_bytes(), 80'000);
    EXPECT_EQ(report.all_reduces(1).algorithm(), "ring");
  }
  const double each = AllReduceBytes(proto::AllReduce::recursive_doubling, 3, 40'000) +
                      AllReduceBytes(proto::AllReduce::ring, 3, 80'000);
  EXPECT_DOUBLE_EQ(sent, 10 * 3 * each);
}

TEST(EmulatedStraggler, IsSlowAndTheOtherIsNot) {
  proto::Job job = EmulatedJob(proto::Strategy::ps_async);
  job.mutable_straggler()->set_rank(1);
  job.mutable_straggler()->set_factor(3);
  const auto outcome = RunJob(job, "straggler");
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  for (int step = 0; step < 10; ++step) {
    EXPECT_GE(outcome->reports[1].worker().steps().compute_ns(step), 3 * kStepMs * kMs);
  }
  const proto::WorkerReport& other = outcome->reports[0].worker();
  const auto& other_ns = other.steps().compute_ns();
  const int64_t fastest_ns = *std::min_element(other_ns.begin(), other_ns.end());
  EXPECT_GE(fastest_ns, kStepMs * kMs);
  EXPECT_LT(fastest_ns, 2 * kStepMs * kMs);  // of ten steps one is not held up by the machine
}

}  // namespace
}  // namespace crossover::tests
