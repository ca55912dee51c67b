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
