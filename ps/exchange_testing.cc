#include "ps/exchange_testing.h"

#include <gtest/gtest.h>

namespace crossover::ps {
namespace {

constexpr uint64_t kFingerprint = 0x1234;
constexpr char kToken[] = "0123456789abcdef0123456789abcdef";
constexpr int64_t kTotalSteps = 50;

}  // namespace

proto::Job TestJob(proto::Strategy::Name strategy, int workers, int servers) {
  proto::Job job;
  job.set_strategy(strategy);
  job.set_workers(workers);
  job.set_servers(servers);
  job.mutable_ps()->set_part_bytes(16);
  job.mutable_ps()->set_credits(1000);  // all parts at once, so that tests can count them
  job.mutable_learning_rate()->set_base(0.125);
  job.mutable_learning_rate()->set_warmup_steps(0);
  job.mutable_learning_rate()->set_decay(proto::LearningRate::constant);
  return job;
}

TestCluster::TestCluster(const proto::Job& job, const std::vector<int64_t>& bucket_lengths)
    : TestCluster(job, bucket_lengths, clock_) {}

TestCluster::TestCluster(const proto::Job& job, const std::vector<int64_t>& bucket_lengths,
                         const Clock& server_clock)
    : job_(job) {
  int64_t offset = 0;
  for (const int64_t length : bucket_lengths) {
    Bucket bucket;
    bucket.id = static_cast<int>(buckets_.buckets.size());
    bucket.offset = offset;
    bucket.length = length;
    buckets_.buckets.push_back(bucket);
    offset += length;
  }
  for (int rank = 0; rank < job.servers(); ++rank) {
    Server::Options options;
    options.job = job;
    options.identity = {kFingerprint, kToken, net::Role::kServer, rank};
    options.on_worker_lost = [this](int, const absl::Status& why) {
      const std::lock_guard lock(mutex_);
      lost_.emplace_back(why.message());
    };
    auto server = Server::Start(options, server_clock);
    EXPECT_TRUE(server.ok()) << server.status();
    servers_.push_back(*std::move(server));
  }
}

TestCluster::~TestCluster() {
  for (const auto& server : servers_) server->Stop();
}

net::Identity TestCluster::WorkerIdentity(int worker) const {
  return {kFingerprint, kToken, net::Role::kWorker, worker};
}

Client::Options TestCluster::ClientOptions(int worker) const {
  Client::Options options;
  options.identity = WorkerIdentity(worker);
  for (const auto& server : servers_) options.servers.push_back(server->address());
  options.part_bytes = job_.ps().part_bytes();
  options.credits = job_.ps().credits();
  options.total_steps = kTotalSteps;
  return options;
}

std::vector<std::string> TestCluster::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void TestCluster::WaitUntil(const std::function<bool()>& condition) {
  for (int tries = 0; tries < 30'000; ++tries) {
    if (condition()) return;
    clock_.SleepNs(1'000'000);
  }
  FAIL() << "what the test waits for did not come";
}

}  // namespace crossover::ps
