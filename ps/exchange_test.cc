// Workers and servers together, over 127.0.0.1, with threads as workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "core/timeline.h"
#include "ps/client.h"
#include "ps/exchange_testing.h"
#include "ps/server.h"

namespace crossover::ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Exchange, SyncEqualsASerialComputationToTheBit) {
  for (const int servers : {1, 2, 3}) {
    proto::Job job = TestJob(proto::Strategy::ps_sync, 3, servers);
    job.set_deterministic(true);
    job.mutable_ps()->set_credits(servers);
    TestCluster cluster(job, {40, 0, 60});
    const auto parameters = TrainAll(cluster, 20);
    const std::vector<float> expected = SerialSync(job, 20);
    for (const auto& result : parameters) EXPECT_EQ(result, expected) << servers;

    const proto::ServerReport report = cluster.server(0).report();
    const int64_t shard_bytes = report.parameter_bytes();
    EXPECT_EQ(report.payload_received_bytes(), shard_bytes * 3 * 20);
    EXPECT_EQ(report.payload_sent_bytes(), shard_bytes * 3 * 20);
    EXPECT_EQ(report.staleness_max(), 0);
    EXPECT_EQ(report.lead_steps_max(), 0);
    EXPECT_GT(report.apply_ns(), 0);
    EXPECT_EQ(report.held_replies_size(), 3);
    EXPECT_THAT(cluster.lost(), testing::IsEmpty());
  }
}

TEST(Exchange, OneWorkerIsEnough) {
  const proto::Job job = TestJob(proto::Strategy::ps_async, 1, 2);
  TestCluster cluster(job, {40, 0, 60});
  EXPECT_EQ(TrainAll(cluster, 10)[0], SerialSync(job, 10));
}

TEST(Exchange, AsyncAppliesEveryPush) {
  proto::Job job = TestJob(proto::Strategy::ps_async, 3, 2);
  job.mutable_ps()->set_credits(1);
  TestCluster cluster(job, {40, 0, 60});
  TrainAll(cluster, 20);
  for (int rank = 0; rank < 2; ++rank) {
    const proto::ServerReport report = cluster.server(rank).report();
    EXPECT_EQ(report.payload_received_bytes(), report.parameter_bytes() * 3 * 20);
    int64_t counted = 0;
    for (const int64_t count : report.staleness_histogram()) counted += count;
    EXPECT_EQ(counted, report.pushes());
  }
}

TEST(Exchange, BoundHoldsAndIsNeverPassed) {
  proto::Job job = TestJob(proto::Strategy::ps_ssp, 2, 1);
  job.mutable_ps()->set_staleness_bound(2);
  TestCluster cluster(job, {40, 0, 60});
  Timeline fast_timeline(cluster.clock());
  Timeline slow_timeline(cluster.clock());
  auto fast = *Client::Connect(cluster.ClientOptions(0), cluster.buckets(), fast_timeline);
  auto slow = *Client::Connect(cluster.ClientOptions(1), cluster.buckets(), slow_timeline);
  std::vector<float> fast_parameters(kTestLength);
  std::vector<float> slow_parameters(kTestLength);
  ASSERT_TRUE(fast->Initialize(FirstParameters()).ok());
  ASSERT_TRUE(fast->Pull(fast_parameters).ok());
  ASSERT_TRUE(slow->Pull(slow_parameters).ok());
  const auto step = [](Client& client, int64_t step, std::vector<float>& parameters) {
    client.BeginStep(step, parameters, parameters);
    for (int bucket = 0; bucket < 3; ++bucket) client.PushBucket(bucket);
    return client.Wait();
  };
  ASSERT_TRUE(step(*fast, 0, fast_parameters).ok());
  ASSERT_TRUE(step(*fast, 1, fast_parameters).ok());
  fast_timeline.BeginStep(2);
  const int64_t parts = cluster.server(0).report().pushes() / 2;
  auto third = std::async(std::launch::async, [&] { return step(*fast, 2, fast_parameters); });
  cluster.WaitUntil([&] { return cluster.server(0).report().pushes() == 3 * parts; });
  ASSERT_EQ(cluster.server(0).report().held_replies(0), parts);  // and so it cannot have gone on
  ASSERT_TRUE(step(*slow, 0, slow_parameters).ok());
  EXPECT_TRUE(third.get().ok());
  EXPECT_GT(fast_timeline.EndStep(1, 0).held_ns, 0);
  const proto::ServerReport report = cluster.server(0).report();
  EXPECT_EQ(report.lead_steps_max(), 2);
  EXPECT_GT(report.held_ns(0), 0);
  EXPECT_EQ(report.held_replies(1), 0);
  // Leaving, the slow one frees the fast one for good.
  auto fourth = std::async(std::launch::async, [&] { return step(*fast, 3, fast_parameters); });
  EXPECT_TRUE(slow->Leave().ok());
  EXPECT_TRUE(fourth.get().ok());
  EXPECT_TRUE(fast->Leave().ok());
}

// Worker 0 closes each step alone; worker 1 comes with its step 0 after two of them.
TEST(Exchange, ALateWorkerIsToldAndGoesOnWithTheOpenStep) {
  TestCluster cluster(TestJob(proto::Strategy::ps_backup, 2, 2), {40, 0, 60});
  Timeline timeline(cluster.clock());
  auto first = *Client::Connect(cluster.ClientOptions(0), cluster.buckets(), timeline);
  auto late = *Client::Connect(cluster.ClientOptions(1), cluster.buckets(), timeline);
  std::vector<float> parameters(kTestLength), late_parameters(kTestLength);
  ASSERT_TRUE(first->Initialize(FirstParameters()).ok());
  ASSERT_TRUE(first->Pull(parameters).ok());
  ASSERT_TRUE(late->Pull(late_parameters).ok());
  const std::vector<float> gradient(kTestLength, 1);
  const auto step = [&gradient](Client& client, int64_t step, std::vector<float>& parameters) {
    client.BeginStep(step, gradient, parameters);
    for (int bucket = 0; bucket < 3; ++bucket) client.PushBucket(bucket);
    return client.Wait();
  };
  ASSERT_TRUE(step(*first, 0, parameters).ok());
  ASSERT_TRUE(step(*first, 1, parameters).ok());
  ASSERT_TRUE(step(*late, 0, late_parameters).ok());
  EXPECT_EQ(late_parameters, parameters);
  constexpr int64_t kParts = 2 * (5 + 8);  // of each server, 20 and 30 values in parts of 4
  EXPECT_EQ(late->counters().versions.late_pushes, kParts);
  EXPECT_EQ(late->counters().versions.staleness_max, 2);
  EXPECT_EQ(late->OldestVersion(), 2);
  ASSERT_TRUE(step(*late, 2, late_parameters).ok());
  EXPECT_EQ(late->counters().versions.late_pushes, kParts);  // that one counted
  EXPECT_EQ(late->OldestVersion(), 3);
  EXPECT_EQ(first->counters().versions.late_pushes, 0);
  int64_t pushes = 0, late_pushes = 0;
  for (int rank = 0; rank < 2; ++rank) {
    const proto::ServerReport report = cluster.server(rank).report();
    pushes += report.pushes();
    late_pushes += report.late_pushes(1);
    EXPECT_EQ(report.late_pushes(0), 0);
    EXPECT_EQ(report.payload_received_bytes(), 4 * report.parameter_bytes());
    EXPECT_DOUBLE_EQ(report.effective_learning_rate(), 0.125);
  }
  EXPECT_EQ(pushes, 3 * kParts);
  EXPECT_EQ(late_pushes, kParts);
}

// Worker 1's push comes to the first bucket before worker 0's, and to the last one after it.
TEST(Exchange, CountsStepsThatBeginWithPartsOfDifferentVersions) {
  TestCluster cluster(TestJob(proto::Strategy::ps_async, 2, 1), {40, 0, 60});
  Timeline timeline(cluster.clock());
  auto first = *Client::Connect(cluster.ClientOptions(0), cluster.buckets(), timeline);
  auto second = *Client::Connect(cluster.ClientOptions(1), cluster.buckets(), timeline);
  std::vector<float> parameters(kTestLength);
  ASSERT_TRUE(first->Initialize(FirstParameters()).ok());
  ASSERT_TRUE(first->Pull(parameters).ok());
  ASSERT_TRUE(second->Pull(parameters).ok());
  const std::vector<float> gradient(kTestLength, 1);
  second->BeginStep(0, gradient, parameters);
  second->PushBucket(0);
  cluster.WaitUntil([&] { return cluster.server(0).report().pushes() == 10; });
  std::vector<float> other(kTestLength);
  first->BeginStep(0, gradient, other);
  for (int bucket = 0; bucket < 3; ++bucket) first->PushBucket(bucket);
  ASSERT_TRUE(first->Wait().ok());
  EXPECT_EQ(first->counters().versions.mixed_version_steps, 0);
  for (int bucket = 1; bucket < 3; ++bucket) second->PushBucket(bucket);
  ASSERT_TRUE(second->Wait().ok());
  for (int64_t step = 1; step < 3; ++step) {
    first->BeginStep(step, gradient, other);
    for (int bucket = 0; bucket < 3; ++bucket) first->PushBucket(bucket);
    ASSERT_TRUE(first->Wait().ok());
    // Of versions 2 and 1; then all of version 3.
    EXPECT_EQ(first->counters().versions.mixed_version_steps, 1);
  }
}

TEST(Exchange, LocalSgdAveragesParameters) {
  proto::Job job = TestJob(proto::Strategy::local_sgd, 2, 2);
  job.mutable_local_sgd()->set_through(proto::LocalSgd::servers);
  TestCluster cluster(job, {40, 0, 60});
  std::vector<std::thread> threads;
  for (int worker = 0; worker < 2; ++worker) {
    threads.emplace_back([&, worker] {
      Timeline timeline(cluster.clock());
      auto client = *Client::Connect(cluster.ClientOptions(worker), cluster.buckets(), timeline);
      std::vector<float> parameters(kTestLength, 1);
      if (worker == 0) {
        ASSERT_TRUE(client->Initialize(parameters).ok());
      }
      ASSERT_TRUE(client->Pull(parameters).ok());
      for (int64_t round = 0; round < 3; ++round) {
        for (float& value : parameters) value += static_cast<float>(2 * worker);
        client->BeginStep(round, parameters, parameters);
        for (int bucket = 0; bucket < 3; ++bucket) client->PushBucket(bucket);
        ASSERT_TRUE(client->Wait().ok());
      }
      EXPECT_EQ(parameters, std::vector<float>(kTestLength, 4));
      ASSERT_TRUE(client->Leave().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Exchange, PullWaitsForInitialization) {
  TestCluster cluster(TestJob(proto::Strategy::ps_sync, 2, 2), {40, 0, 60});
  Timeline timeline(cluster.clock());
  auto second = *Client::Connect(cluster.ClientOptions(1), cluster.buckets(), timeline);
  std::vector<float> pulled(kTestLength);
  auto pull = std::async(std::launch::async, [&] { return second->Pull(pulled); });
  auto first = *Client::Connect(cluster.ClientOptions(0), cluster.buckets(), timeline);
  ASSERT_TRUE(first->Initialize(FirstParameters()).ok());
  ASSERT_TRUE(pull.get().ok());
  EXPECT_EQ(pulled, FirstParameters());
}

TEST(Exchange, RecordsSpansOfEveryBucketWithValues) {
  TestCluster cluster(TestJob(proto::Strategy::ps_async, 1, 2), {40, 0, 60});
  Timeline timeline(cluster.clock());
  timeline.KeepSpansOf({0});
  auto client = *Client::Connect(cluster.ClientOptions(0), cluster.buckets(), timeline);
  std::vector<float> parameters(kTestLength);
  ASSERT_TRUE(client->Initialize(parameters).ok());
  timeline.BeginStep(0);
  client->BeginStep(0, parameters, parameters);
  for (int bucket = 0; bucket < 3; ++bucket) client->PushBucket(bucket);
  ASSERT_TRUE(client->Wait().ok());
  const StepRecord record = timeline.EndStep(1, 0);
  ASSERT_EQ(record.ops.size(), 2u);
  EXPECT_EQ(record.ops[0].op, 0);
  EXPECT_EQ(record.ops[1].op, 2);
  EXPECT_GT(record.communication_ns, 0);
  EXPECT_EQ(record.held_ns, 0);
  ASSERT_TRUE(client->Leave().ok());
}

TEST(Exchange, StrangersAreRefusedAndHarmNothing) {
  TestCluster cluster(TestJob(proto::Strategy::ps_async, 2, 2), {40, 0, 60});
  Timeline timeline(cluster.clock());
  const auto error = [&](const Client::Options& options) {
    const absl::Status status = Client::Connect(options, cluster.buckets(), timeline).status();
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  };
  auto member = *Client::Connect(cluster.ClientOptions(0), cluster.buckets(), timeline);
  Client::Options stranger = cluster.ClientOptions(1);
  stranger.identity.token = "00000000000000000000000000000000";
  EXPECT_THAT(error(stranger), AllOf(HasSubstr("server "), HasSubstr("token")));
  stranger = cluster.ClientOptions(1);
  ++stranger.identity.job_fingerprint;
  EXPECT_THAT(error(stranger), HasSubstr("job"));
  EXPECT_THAT(error(cluster.ClientOptions(2)), HasSubstr("this job's are 0 to 1"));
  EXPECT_THAT(error(cluster.ClientOptions(0)), HasSubstr("worker 0 has been connected before"));
  stranger = cluster.ClientOptions(1);
  stranger.identity.role = net::Role::kServer;
  EXPECT_THAT(error(stranger), HasSubstr("only workers may"));
  std::vector<float> parameters(kTestLength);
  EXPECT_TRUE(Train(*member, 0, 3, parameters).ok());
  EXPECT_THAT(cluster.lost(), testing::IsEmpty());
}

TEST(Exchange, UnequalPlansAreRefused) {
  TestCluster cluster(TestJob(proto::Strategy::ps_async, 2, 1), {40, 0, 60});
  Timeline timeline(cluster.clock());
  auto member = *Client::Connect(cluster.ClientOptions(1), cluster.buckets(), timeline);
  Client::Options options = cluster.ClientOptions(0);
  options.total_steps += 1;
  EXPECT_THAT(Client::Connect(options, cluster.buckets(), timeline).status().message(),
              HasSubstr("worker 0 plans 51 steps of 100 values in 3 buckets, but worker 1 50"));
}

TEST(Exchange, ServerThatIsNotThereIsAnErrorThatNamesIt) {
  TestCluster cluster(TestJob(proto::Strategy::ps_async, 1, 1), {40, 0, 60});
  cluster.server(0).Stop();
  Timeline timeline(cluster.clock());
  Client::Options options = cluster.ClientOptions(0);
  options.connect_s = 0.2;
  const auto client = Client::Connect(options, cluster.buckets(), timeline);
  EXPECT_THAT(client.status().message(),
              AllOf(HasSubstr(absl::StrCat("server 0 at ", options.servers[0])),
                    HasSubstr("no answer within 0.2 s")));
}

// A sync step that waits for worker 1, which never pushes.
struct WaitingStep {
  explicit WaitingStep(TestCluster& cluster) : timeline(cluster.clock()) {
    client = *Client::Connect(cluster.ClientOptions(0), cluster.buckets(), timeline);
    other = *Client::Connect(cluster.ClientOptions(1), cluster.buckets(), timeline);
    EXPECT_TRUE(client->Initialize(parameters).ok());
    client->BeginStep(0, parameters, parameters);
    for (int bucket = 0; bucket < 3; ++bucket) client->PushBucket(bucket);
    constexpr int64_t kParts = 5 + 8;  // 20 and 30 values in parts of 4
    cluster.WaitUntil([&] { return cluster.server(1).report().pushes() == kParts; });
  }
  std::vector<float> parameters = std::vector<float>(kTestLength);
  Timeline timeline;
  std::unique_ptr<Client> client;
  std::unique_ptr<Client> other;
};

TEST(Exchange, ServerStoppedInAStepEndsTheWorkers) {
  TestCluster cluster(TestJob(proto::Strategy::ps_sync, 2, 2), {40, 0, 60});
  WaitingStep step(cluster);
  auto wait = std::async(std::launch::async, [&] { return step.client->Wait(); });
  cluster.server(1).Stop();
  const absl::Status status = wait.get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("server 1 at ", cluster.server(1).address(),
                                                       ": connection lost in step 0")));
  EXPECT_EQ(step.client->Leave(), status);
  EXPECT_EQ(step.client->Wait(), status);
}

TEST(Exchange, WaitIsBounded) {
  TestCluster cluster(TestJob(proto::Strategy::ps_sync, 2, 1), {40, 0, 60});
  Timeline timeline(cluster.clock());
  Client::Options options = cluster.ClientOptions(0);
  options.step_s = 0.1;
  auto client = *Client::Connect(options, cluster.buckets(), timeline);
  std::vector<float> pulled(kTestLength);
  const absl::Status status = client->Pull(pulled);  // nobody initializes
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr(": no answer within 0.1 s, before the first step"));
}

TEST(Exchange, AbortEndsTheWait) {
  TestCluster cluster(TestJob(proto::Strategy::ps_sync, 2, 2), {40, 0, 60});
  WaitingStep step(cluster);
  auto wait = std::async(std::launch::async, [&] { return step.client->Wait(); });
  const absl::Status why = absl::AbortedError("worker 1 was lost in step 0");
  step.client->Abort(why);
  EXPECT_EQ(wait.get(), why);
}

TEST(Exchange, WorkerThatLeavesInAStepFailsTheOthers) {
  TestCluster cluster(TestJob(proto::Strategy::ps_sync, 2, 2), {40, 0, 60});
  WaitingStep step(cluster);
  auto wait = std::async(std::launch::async, [&] { return step.client->Wait(); });
  ASSERT_TRUE(step.other->Leave().ok());
  const absl::Status status = wait.get();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("server "), HasSubstr("in step 0"),
                                      HasSubstr("worker 1 left after 0 steps; step 0 needs")));
}

TEST(Exchange, WorkerThatVanishesIsReported) {
  TestCluster cluster(TestJob(proto::Strategy::ps_sync, 2, 2), {40, 0, 60});
  {
    WaitingStep step(cluster);
    step.other.reset();
    cluster.WaitUntil([&] { return cluster.lost().size() == 2; });
    EXPECT_THAT(cluster.lost()[0],
                AllOf(HasSubstr("worker 1 at 127.0.0.1:"), HasSubstr("before its first push")));
    step.client.reset();
  }
  cluster.WaitUntil([&] { return cluster.lost().size() == 4; });
  EXPECT_THAT(cluster.lost()[3],
              AllOf(HasSubstr("worker 0 at 127.0.0.1:"), HasSubstr("after its push for step 0")));
}

}  // namespace
}  // namespace crossover::ps
