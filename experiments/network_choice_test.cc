#include "experiments/network_choice.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover::experiments {
namespace {

using ::testing::HasSubstr;

TEST(ChooseNetworkTest, RootHasALabByDefaultOthersLoopback) {
  const auto root = ChooseNetwork(proto::Job(), true);
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_FALSE(root->asked);
  EXPECT_EQ(root->spec.LinkOf("worker").rate_bits_per_s, 1e9);
  const auto other = ChooseNetwork(proto::Job(), false);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_FALSE(other->spec.shaped());
}

TEST(ChooseNetworkTest, WhatIsAskedForIsTakenOrRefused) {
  proto::Job job;
  job.mutable_comparison()->set_network("loopback");
  auto choice = ChooseNetwork(job, true);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_TRUE(choice->asked);
  EXPECT_FALSE(choice->spec.shaped());
  job.mutable_comparison()->set_network("200mbit,1ms");
  choice = ChooseNetwork(job, true);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->spec.LinkOf("server").rate_bits_per_s, 2e8);
  const auto denied = ChooseNetwork(job, false);
  EXPECT_EQ(denied.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(denied.status().message()), HasSubstr("sudo, or --network=loopback"));
  job.mutable_comparison()->set_network("1gigabit");
  EXPECT_THAT(std::string(ChooseNetwork(job, true).status().message()),
              HasSubstr("comparison.network is 1gigabit: "));
}

TEST(SetsCongestionControlTest, TheDefaultIsNoneWrittenOutOrNot) {
  proto::Job job;
  EXPECT_FALSE(SetsCongestionControl(job));
  job.mutable_comparison()->set_congestion_control("cubic");
  EXPECT_FALSE(SetsCongestionControl(job));
  job.mutable_comparison()->set_congestion_control("bbr");
  EXPECT_TRUE(SetsCongestionControl(job));
}

// 4 workers, 40 MB of gradient, 100 ms of compute.
proto::Job EmulatedJob() {
  proto::Job job;
  job.set_model(proto::Model::emulated);
  job.set_workers(4);
  proto::Layer& layer = *job.mutable_emulated()->add_layers();
  layer.set_forward_ms(40);
  layer.set_backward_ms(60);
  layer.set_gradient_bytes(40'000'000);
  return job;
}

TEST(EmulatedTrafficTest, IsBoundByComputeOrByTheLink) {
  proto::Job job = EmulatedJob();
  lab::NetworkSpec fast;
  // 2 x 4 x 40 MB in 100 ms.
  EXPECT_NEAR(EmulatedTrafficBytesPerS(job, fast), 3.2e9, 1e3);
  // M / B = 40 MB at 1 Gbit/s with full frames: longer than the compute.
  lab::NetworkSpec slow;
  slow.links["worker"].rate_bits_per_s = 1e9;
  const double step_s = 40e6 / (125e6 * 1448 / 1538);
  EXPECT_NEAR(EmulatedTrafficBytesPerS(job, slow), 320e6 / step_s, 1e3);
  job.mutable_emulated()->set_time_scale(10);
  job.mutable_emulated()->set_bytes_scale(4);
  EXPECT_NEAR(EmulatedTrafficBytesPerS(job, fast), 80e6, 1e3);
}

TEST(EmulatedTrafficTest, MoreThanThirtyPercentIsRefusedWithTheFix) {
  const proto::Job job = EmulatedJob();  // 3200 MB/s
  EXPECT_EQ(CheckEmulatedTraffic(job, {}, 3.2e9 / 0.3 + 1), absl::OkStatus());
  const absl::Status refused = CheckEmulatedTraffic(job, {}, 3.2e9 / 0.6);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("3200 MB/s over all nodes; allowed: 1600"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("by 2.00 times or more"));
}

}  // namespace
}  // namespace crossover::experiments
