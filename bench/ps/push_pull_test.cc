// Real servers and clients in one process, a thread for each worker.
#include "bench/ps/push_pull.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/shared/control.h"
#include "core/clock.h"
#include "core/job.h"
#include "core/timeline.h"
#include "net/identity.h"
#include "net/inproc_endpoint.h"
#include "proto/job.pb.h"
#include "ps/client.h"
#include "ps/server.h"

namespace crossover::bench {
namespace {

constexpr char kToken[] = "0123456789abcdef0123456789abcdef";

class PushPull : public testing::Test {
 protected:
  static PushPullPlan SmallPlan() {
    PushPullPlan plan;
    plan.workers = 3;
    plan.servers = 2;
    plan.bytes = 4 * 1000;
    plan.buckets = 3;
    plan.part_bytes = 256;
    plan.credits = 2;
    plan.warmup = 1;
    plan.iterations = 2;
    return plan;
  }

  void StartServers(const proto::Job& job) {
    for (int rank = 0; rank < job.servers(); ++rank) {
      ps::Server::Options options;
      options.job = job;
      options.identity = {JobFingerprint(job), kToken, net::Role::kServer, rank};
      auto server = ps::Server::Start(options, clock_);
      ASSERT_TRUE(server.ok()) << server.status();
      addresses_.push_back((*server)->address());
      servers_.push_back(*std::move(server));
    }
  }

  absl::StatusOr<PushPullRecord> RunWorker(const PushPullPlan& plan, const proto::Job& job,
                                           net::Endpoint& endpoint) {
    ps::Client::Options options;
    options.identity = {JobFingerprint(job), kToken, net::Role::kWorker, endpoint.rank()};
    options.servers = addresses_;
    options.part_bytes = plan.part_bytes;
    options.credits = plan.credits;
    options.total_steps = 1'000'000;
    Timeline timeline(clock_);
    const auto client = ps::Client::Connect(options, BucketsOf(plan), timeline);
    if (!client.ok()) return client.status();
    Control control(endpoint, 30, clock_);
    // This process stands for the servers'.
    auto record = MeasurePushPull(plan, control, {client->get(), &timeline, {getpid()}});
    if (!record.ok()) return record;
    EXPECT_TRUE((*client)->Leave().ok());
    return record;
  }

  // Rank 0's; the job that the servers get may be another than the plan's.
  PushPullRecord Run(const PushPullPlan& plan, const proto::Job& job) {
    StartServers(job);
    const int workers = static_cast<int>(plan.workers);
    const auto endpoints = net::MakeInprocEndpoints(workers, clock_);
    std::vector<PushPullRecord> records(workers);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < workers; ++rank) {
      threads.emplace_back([&, rank] {
        auto record = RunWorker(plan, job, *endpoints[rank]);
        EXPECT_TRUE(record.ok()) << record.status();
        if (record.ok()) records[rank] = *record;
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& server : servers_) server->Stop();
    EXPECT_EQ(records.back().wrong, records.front().wrong);
    return records.front();
  }

  SystemClock clock_;
  std::vector<std::unique_ptr<ps::Server>> servers_;
  std::vector<std::string> addresses_;
};

class Strategies : public PushPull, public testing::WithParamInterface<const char*> {};

TEST_P(Strategies, AreRightAndTimed) {
  PushPullPlan plan = SmallPlan();
  plan.strategy = GetParam();
  const PushPullRecord record = Run(plan, *JobFor(plan));
  EXPECT_EQ(record.strategy, plan.strategy);
  EXPECT_EQ(record.wrong, 0);
  EXPECT_EQ(record.bytes, 4000);
  EXPECT_GE(record.steps, 2);
  EXPECT_GT(record.time_us_min, 0);
  EXPECT_GT(record.push_us, 0);
  EXPECT_GT(record.server_cpu_s_per_GB, 0);
  EXPECT_GT(record.server_peak_MB, 1);
  EXPECT_EQ(record.worker_time_us.size(), 3);
}
INSTANTIATE_TEST_SUITE_P(All, Strategies, testing::Values("ps_sync", "ps_async"));

// Servers that move twice as far: what an odd number of steps leaves is wrong in every element, of
// each of three workers in one of the two steps before the timing and one of the two after it.
TEST_F(PushPull, WhatServersDoWronglyIsCounted) {
  const PushPullPlan plan = SmallPlan();
  proto::Job job = *JobFor(plan);
  job.mutable_learning_rate()->set_base(2);
  EXPECT_EQ(Run(plan, job).wrong, 1000 * 3 * 2);
}

}  // namespace
}  // namespace crossover::bench
