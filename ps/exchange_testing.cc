#include "ps/exchange_testing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "core/gradient_norm.h"
#include "core/optimizer.h"
#include "core/reduce.h"
#include "core/status.h"
#include "core/timeline.h"
#include "net/tls_pem.h"
#include "ps/wire.h"

namespace crossover::ps {
namespace {

constexpr uint64_t kFingerprint = 0x1234;
constexpr char kToken[] = "0123456789abcdef0123456789abcdef";
constexpr int64_t kTotalSteps = 50;

// Some gradient that depends on everything it should depend on.
void Gradient(int worker, int64_t step, std::span<const float> parameters,
              std::span<float> gradient) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    gradient[i] =
        0.1f * parameters[i] + std::sin(static_cast<float>(i + 7 * static_cast<size_t>(worker)) +
                                        static_cast<float>(step));
  }
}

}  // namespace

proto::Job TestJob(proto::Strategy::Name strategy, int workers, int servers) {
  proto::Job job;
  job.set_strategy(strategy);
  job.set_workers(workers);
  job.set_servers(servers);
  job.mutable_ps()->set_part_bytes(16);
  job.mutable_ps()->set_credits(1000);  // all parts at once, so that tests can count them
  job.mutable_ps()->set_unix_sockets(false);
  job.mutable_learning_rate()->set_base(0.125);
  job.mutable_learning_rate()->set_warmup_steps(0);
  job.mutable_learning_rate()->set_decay(proto::LearningRate::constant);
  return job;
}

TestCluster::TestCluster(const proto::Job& job, const std::vector<int64_t>& bucket_lengths)
    : TestCluster(job, bucket_lengths, clock_) {}

TestCluster::TestCluster(const proto::Job& job, const std::vector<int64_t>& bucket_lengths,
                         const Clock& server_clock)
    : job_(job), tls_pem_(job.tls() ? *net::MakeTlsPem() : "") {
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
    options.identity = {kFingerprint, kToken, net::Role::kServer, rank, tls_pem_};
    options.on_worker_lost = [this](int, const absl::Status& why) {
      const std::lock_guard lock(mutex_);
      lost_.emplace_back(why.message());
    };
    options.on_plan = [this](const std::string& holds) {
      const std::lock_guard lock(mutex_);
      holdings_.push_back(holds);
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
  return {kFingerprint, kToken, net::Role::kWorker, worker, tls_pem_};
}

Client::Options TestCluster::ClientOptions(int worker) const {
  std::vector<net::RosterMember> servers;
  for (const auto& server : servers_) {
    servers.push_back({static_cast<int>(servers.size()), server->address(), server->unix_socket()});
  }
  Client::Options options = ClientOptionsOf(job_, WorkerIdentity(worker), servers);
  options.total_steps = kTotalSteps;
  return options;
}

std::vector<std::string> TestCluster::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

std::vector<std::string> TestCluster::holdings() const {
  const std::lock_guard lock(mutex_);
  return holdings_;
}

void TestCluster::WaitUntil(const std::function<bool()>& condition) {
  for (int tries = 0; tries < 30'000; ++tries) {
    if (condition()) return;
    clock_.SleepNs(1'000'000);
  }
  FAIL() << "what the test waits for did not come";
}

std::vector<float> FirstParameters() {
  std::vector<float> parameters(kTestLength);
  for (int64_t i = 0; i < kTestLength; ++i) parameters[i] = std::cos(static_cast<float>(i));
  return parameters;
}

absl::Status Train(Client& client, int worker, int64_t steps, std::vector<float>& parameters) {
  if (worker == 0) RETURN_IF_ERROR(client.Initialize(FirstParameters()));
  RETURN_IF_ERROR(client.Pull(parameters));
  std::vector<float> gradient(kTestLength);
  for (int64_t step = 0; step < steps; ++step) {
    Gradient(worker, step, parameters, gradient);
    client.BeginStep(step, gradient, parameters);
    for (int bucket = 2; bucket >= 0; --bucket) client.PushBucket(bucket);
    RETURN_IF_ERROR(client.Wait());
  }
  return client.Leave();
}

std::vector<std::vector<float>> TrainAll(TestCluster& cluster, int64_t steps) {
  const int workers = cluster.job().workers();
  std::vector<std::vector<float>> parameters(workers, std::vector<float>(kTestLength));
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      Timeline timeline(cluster.clock());
      auto client = Client::Connect(cluster.ClientOptions(worker), cluster.buckets(), timeline);
      ASSERT_TRUE(client.ok()) << client.status();
      const absl::Status status = Train(**client, worker, steps, parameters[worker]);
      ASSERT_TRUE(status.ok()) << status;
      const auto value_bytes = static_cast<int64_t>(BytesOf(WireTypeOf(cluster.job())));
      EXPECT_EQ((*client)->counters().sent_bytes, steps * kTestLength * value_bytes);
      EXPECT_EQ((*client)->counters().received_bytes, steps * kTestLength * value_bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return parameters;
}

std::vector<float> SerialSync(const proto::Job& job, int64_t steps) {
  std::vector<float> parameters = FirstParameters();
  Optimizer optimizer(job.optimizer(), kTestLength);
  std::vector<float> gradient(kTestLength);
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<float> sum(kTestLength);
    for (int worker = 0; worker < job.workers(); ++worker) {
      Gradient(worker, step, parameters, gradient);
      if (worker == 0) {
        sum = gradient;
      } else {
        AddInto(sum, gradient);
      }
    }
    DivideBy(sum, job.workers());
    ClipToNorm(job.optimizer().clip_norm(), sum);
    optimizer.Apply(0, parameters, sum, job.learning_rate().base(), step);
  }
  return parameters;
}

}  // namespace crossover::ps
