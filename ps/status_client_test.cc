// The status of servers at work, over real gRPC, and what is said of addresses at which there is
// none.
#include "ps/status_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/timeline.h"
#include "net/rendezvous_server.h"
#include "net/socket.h"
#include "net/tls_pem.h"
#include "ps/client.h"
#include "ps/exchange_testing.h"
#include "ps/server.h"

namespace crossover::ps {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kTimeoutS = 30;
constexpr int64_t kLength = 6;  // parts of 4 and of 2 values
constexpr int64_t kBytes = 4 * kLength;

// Two workers and one server.
class StatusClientTest : public testing::Test {
 protected:
  void Start(proto::Strategy::Name strategy) {
    cluster_ =
        std::make_unique<TestCluster>(TestJob(strategy, 2, 1), std::vector<int64_t>{kLength});
    status_client_ = std::make_unique<StatusClient>(cluster_->server(0).address(), Token(), "");
  }
  void Connect(int rank) {
    auto client = Client::Connect(cluster_->ClientOptions(rank), cluster_->buckets(), timeline_);
    ASSERT_TRUE(client.ok()) << client.status();
    clients_[rank] = *std::move(client);
  }
  void ConnectBoth() {
    Connect(0);
    Connect(1);
    ASSERT_TRUE(clients_[0]->Initialize(parameters_[0]).ok());
    for (int rank : {0, 1}) ASSERT_TRUE(clients_[rank]->Pull(parameters_[rank]).ok());
  }
  void Push(int rank, int64_t step) {
    clients_[rank]->BeginStep(step, gradient_, parameters_[rank]);
    clients_[rank]->PushBucket(0);
  }
  std::string Token() const { return cluster_->WorkerIdentity(0).token; }
  proto::ServerStatus Fetch() {
    const absl::StatusOr<proto::ServerStatus> status = status_client_->Fetch(kTimeoutS);
    EXPECT_TRUE(status.ok()) << status.status();
    return status.value_or(proto::ServerStatus());
  }

  SystemClock clock_;
  Timeline timeline_{clock_};
  std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<StatusClient> status_client_;
  std::vector<float> gradient_ = std::vector<float>(kLength);
  std::vector<std::vector<float>> parameters_{2, std::vector<float>(kLength)};
  std::array<std::unique_ptr<Client>, 2> clients_;
};

TEST_F(StatusClientTest, BeforeAnybodyHasCome) {
  Start(proto::Strategy::ps_sync);
  const proto::ServerStatus status = Fetch();
  EXPECT_EQ(status.job(), cluster_->job().name());
  EXPECT_EQ(status.job_fingerprint(), cluster_->WorkerIdentity(0).job_fingerprint);
  EXPECT_EQ(status.strategy(), "ps_sync");
  EXPECT_EQ(status.address(), cluster_->server(0).address());
  EXPECT_EQ(status.servers(), 1);
  EXPECT_EQ(status.step(), -1);
  EXPECT_EQ(status.total_steps(), 0);
  EXPECT_EQ(status.parts(), 0);
  ASSERT_EQ(status.workers_size(), 2);
  for (const proto::WorkerStatus& worker : status.workers()) {
    EXPECT_EQ(worker.state(), proto::WorkerStatus::AWAITED);
    EXPECT_EQ(worker.silent_s(), -1);
    EXPECT_FALSE(worker.has_heartbeat_s());
  }
}

TEST_F(StatusClientTest, FiguresAreThoseOfWhatWasPushed) {
  Start(proto::Strategy::ps_sync);
  ConnectBoth();
  for (int64_t step = 0; step < 3; ++step) {
    for (int rank : {0, 1}) Push(rank, step);
    for (int rank : {0, 1}) ASSERT_TRUE(clients_[rank]->Wait().ok());
  }
  Push(1, 3);  // waits for worker 0's
  cluster_->WaitUntil([&] { return Fetch().totals().pushes() == 2 * 2 * 3 + 2; });
  cluster_->WaitUntil([&] { return Fetch().step() == 3; });

  const proto::ServerStatus status = Fetch();
  EXPECT_GT(status.uptime_s(), 0);
  EXPECT_EQ(status.total_steps(), cluster_->ClientOptions(0).total_steps);
  EXPECT_EQ(status.parts(), 2);
  EXPECT_EQ(status.version_lowest(), 3);
  EXPECT_EQ(status.version_highest(), 3);
  EXPECT_EQ(status.totals().payload_received_bytes(), kBytes * 7);
  EXPECT_EQ(status.totals().payload_sent_bytes(), kBytes * 6);
  EXPECT_EQ(status.totals().parameter_bytes(), kBytes);
  EXPECT_GT(status.totals().state_bytes(), 0);
  EXPECT_GT(status.totals().apply_ns(), 0);
  EXPECT_THAT(status.totals().staleness_histogram(), ElementsAre(14));
  EXPECT_EQ(status.totals().spans_size(), 0);
  EXPECT_EQ(status.workers(0).step(), 2);
  EXPECT_EQ(status.workers(0).unanswered_parts(), 0);
  EXPECT_EQ(status.workers(1).step(), 3);
  EXPECT_EQ(status.workers(1).unanswered_parts(), 2);
  for (const proto::WorkerStatus& worker : status.workers()) {
    EXPECT_EQ(worker.state(), proto::WorkerStatus::CONNECTED);
    EXPECT_THAT(worker.address(), HasSubstr("127.0.0.1:"));
    EXPECT_GE(worker.silent_s(), 0);
    EXPECT_LE(worker.silent_s(), status.uptime_s());
  }
  Push(0, 3);
  for (int rank : {0, 1}) ASSERT_TRUE(clients_[rank]->Wait().ok());
}

TEST_F(StatusClientTest, PartsMayBeOfUnlikeVersions) {
  Start(proto::Strategy::ps_async);
  ConnectBoth();
  for (int64_t step = 0; step < 2; ++step) {
    Push(0, step);
    ASSERT_TRUE(clients_[0]->Wait().ok());
  }
  Push(1, 0);  // computed from version 0
  ASSERT_TRUE(clients_[1]->Wait().ok());
  const proto::ServerStatus status = Fetch();
  EXPECT_EQ(status.version_highest(), 3);
  EXPECT_EQ(status.totals().staleness_max(), 2);
  EXPECT_THAT(status.totals().staleness_histogram(), ElementsAre(4, 0, 2));
}

TEST_F(StatusClientTest, WhoHasLeftAndWhoIsLost) {
  Start(proto::Strategy::ps_async);
  ConnectBoth();
  ASSERT_TRUE(clients_[0]->Leave().ok());
  clients_[1].reset();
  cluster_->WaitUntil([&] { return Fetch().workers(1).state() == proto::WorkerStatus::LOST; });
  const proto::ServerStatus status = Fetch();
  EXPECT_EQ(status.workers(0).state(), proto::WorkerStatus::LEFT);
  EXPECT_EQ(status.workers(0).queued_messages(), 0);
}

TEST_F(StatusClientTest, AskingDoesNotKeepAServerFromStopping) {
  Start(proto::Strategy::ps_sync);
  ConnectBoth();
  Fetch();
  cluster_->server(0).Stop();
  EXPECT_THAT(std::string(status_client_->Fetch(kTimeoutS).status().message()),
              HasSubstr("nobody answers at"));
}

TEST_F(StatusClientTest, AStrangerIsToldNothing) {
  Start(proto::Strategy::ps_sync);
  for (const std::string token : {"fedcba9876543210fedcba9876543210", "0123456789abcdef"}) {
    StatusClient stranger(cluster_->server(0).address(), token, "");
    const absl::Status refused = stranger.Fetch(kTimeoutS).status();
    EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr("refuses this token"), HasSubstr("--token_file")));
  }
}

TEST_F(StatusClientTest, WhereNobodyIs) {
  Start(proto::Strategy::ps_sync);
  const std::string address = cluster_->server(0).address();
  cluster_->server(0).Stop();
  const absl::Status status = StatusClient(address, Token(), "").Fetch(kTimeoutS).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(absl::StrCat("nobody answers at ", address, " (Connection refused)")),
                    HasSubstr("the server's log")));
}

TEST_F(StatusClientTest, WhatSpeaksNoGrpcIsNoServer) {
  Start(proto::Strategy::ps_sync);
  const auto listener = net::ListenOn("127.0.0.1", 0);
  ASSERT_TRUE(listener.ok()) << listener.status();
  const std::string address = net::OwnAddress(listener->get());
  const absl::Status status = StatusClient(address, Token(), "").Fetch(0.5).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("what listens at ", address, " does not speak gRPC")));
  const absl::Status with_tls =
      StatusClient(cluster_->server(0).address(), Token(), *net::MakeTlsPem()).Fetch(0.5).status();
  EXPECT_THAT(std::string(with_tls.message()),
              AllOf(HasSubstr("does not speak gRPC with this TLS file"), HasSubstr("without TLS")));
}

TEST_F(StatusClientTest, ARendezvousIsNoServer) {
  Start(proto::Strategy::ps_sync);
  net::RendezvousServer::Options options;
  options.identity = cluster_->WorkerIdentity(0);
  const auto rendezvous = net::RendezvousServer::Start(options, clock_);
  ASSERT_TRUE(rendezvous.ok()) << rendezvous.status();
  const absl::Status status =
      StatusClient((*rendezvous)->address(), Token(), "").Fetch(kTimeoutS).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("is no parameter server: give the address"));
}

}  // namespace
}  // namespace crossover::ps
