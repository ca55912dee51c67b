// Runs in good order, and callers who are refused.
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "net/rendezvous_test_util.h"
#include "net/tls_pem.h"

namespace crossover::net {
namespace {

TEST_F(RendezvousTest, GivesEveryoneTheRoster) {
  StartRun(2, 1);
  ASSERT_EQ(clients_.size(), 3u);
  for (const Client& client : clients_) {
    const Roster& roster = client->roster();
    ASSERT_EQ(roster.workers.size(), 2u);
    EXPECT_EQ(roster.workers[0].data_address, "127.0.0.1:4000");
    EXPECT_EQ(roster.workers[1].data_address, "127.0.0.1:4001");
    EXPECT_EQ(roster.workers[1].rank, 1);
    ASSERT_EQ(roster.servers.size(), 1u);
    EXPECT_EQ(roster.servers[0].data_address, "127.0.0.1:5000");
    EXPECT_TRUE(client->status().ok());
  }
  const std::vector<MemberState> members = server_->members();
  ASSERT_EQ(members.size(), 3u);
  EXPECT_TRUE(members[2].joined);
  EXPECT_EQ(members[2].role, Role::kServer);
  EXPECT_EQ(members[1].address, "127.0.0.1:4001");
  EXPECT_GT(members[0].pid, 0);
}

TEST_F(RendezvousTest, KnowsTheClockOffsetAtTheJoin) {
  StartRun(2, 0);
  for (const Client& client : clients_) {
    const ClockOffset offset = client->clock_offset();
    EXPECT_GT(offset.error_ns, 0);
    // One host, one clock: the truth is zero, and must lie within the bound.
    EXPECT_LE(std::abs(offset.offset_ns), offset.error_ns);
  }
}

TEST_F(RendezvousTest, HearsOfProgress) {
  StartRun(1, 0);
  clients_[0]->SetStatus(12, "train", 6144, 0.5);
  ASSERT_TRUE(Eventually([this] { return server_->members()[0].step == 12; }));
  EXPECT_EQ(server_->members()[0].phase, "train");
  EXPECT_EQ(server_->members()[0].samples, 6144);
  EXPECT_EQ(server_->members()[0].loss, 0.5);
  clients_[0]->SetStatus(13, "train", 6656, 0.25);  // told by the next heartbeat
  EXPECT_TRUE(Eventually([this] { return server_->members()[0].step == 13; }));
}

TEST_F(RendezvousTest, EndsInGoodOrder) {
  StartRun(2, 2);
  std::atomic<int> released = 0;
  std::vector<std::thread> servers;
  for (int i = 2; i < 4; ++i) {
    servers.emplace_back([&, i] {
      EXPECT_TRUE(clients_[i]->WaitForWorkersToLeave().ok());
      ++released;
      EXPECT_TRUE(clients_[i]->Leave().ok());
    });
  }
  EXPECT_TRUE(clients_[0]->Leave().ok());
  EXPECT_TRUE(server_->members()[0].left);
  EXPECT_FALSE(server_->WaitForEnd(0));
  EXPECT_EQ(released, 0);
  EXPECT_TRUE(clients_[1]->Leave().ok());
  for (std::thread& server : servers) server.join();
  EXPECT_TRUE(server_->WaitForEnd(kLongS));
  EXPECT_TRUE(server_->status().ok());
  clients_.clear();  // after the leave this is no loss
  EXPECT_TRUE(server_->status().ok());
  for (const auto& watch : watches_) EXPECT_EQ(watch->calls(), 0);
}

TEST_F(RendezvousTest, NothingWorksAfterTheLeave) {
  StartRun(1, 0);
  EXPECT_TRUE(clients_[0]->Leave().ok());
  EXPECT_EQ(clients_[0]->Leave().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(clients_[0]->Barrier("late", kLongS).code(), absl::StatusCode::kFailedPrecondition);
  clients_[0]->ReportFailure(absl::InternalError("late"));
  EXPECT_TRUE(server_->WaitForEnd(kLongS));
  EXPECT_TRUE(server_->status().ok());
}

TEST_F(RendezvousTest, BarriersHoldUntilTheLastWorkerComes) {
  StartRun(3, 1);
  for (const char* name : {"start", "end", "end"}) {
    std::atomic<int> passed = 0;
    std::vector<std::thread> early;
    for (int i = 0; i < 2; ++i) {
      early.emplace_back([&, i] {
        EXPECT_TRUE(clients_[i]->Barrier(name, kLongS).ok());
        ++passed;
      });
    }
    EXPECT_EQ(passed, 0);
    EXPECT_TRUE(clients_[2]->Barrier(name, kLongS).ok());
    for (std::thread& thread : early) thread.join();
    EXPECT_EQ(passed, 2);
  }
  EXPECT_EQ(clients_[3]->Barrier("start", kLongS).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(clients_[0]->Barrier("", kLongS).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(clients_[0]->Barrier(std::string(101, 'x'), kLongS).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(server_->status().ok());
}

TEST_F(RendezvousTest, ABarrierEndsAfterItsTime) {
  StartRun(2, 0);
  const absl::Status late = clients_[0]->Barrier("start", 0.05);
  EXPECT_EQ(late, absl::DeadlineExceededError(
                      "barrier 'start': not every worker came within 0.05 s of worker 0"));
  clients_[0]->ReportFailure(late);
  EXPECT_TRUE(absl::StrContains(clients_[1]->Barrier("start", kLongS).message(), late.message()));
}

TEST_F(RendezvousTest, RefusesStrangersAndGoesOn) {
  StartServer(ServerOptions(2, 0));
  AbortWatch watch;
  auto first = JoinAsync(ClientOptions(Role::kWorker, 0), &watch);
  ASSERT_TRUE(Eventually([this] { return server_->members()[0].joined; }));

  const auto expect_refused = [this](const RendezvousClient::Options& options,
                                     absl::StatusCode code, const std::string& part) {
    const absl::Status status = Join(options).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), part)) << status;
    EXPECT_TRUE(absl::StrContains(
        status.message(), absl::StrCat("refused by the rendezvous at ", server_->address())))
        << status;
  };
  RendezvousClient::Options options = ClientOptions(Role::kWorker, 1);
  options.identity.token = std::string(32, 'f');
  expect_refused(options, absl::StatusCode::kPermissionDenied, "worker 1 at 127.0.0.1:");
  expect_refused(options, absl::StatusCode::kPermissionDenied, "wrong token");
  options = ClientOptions(Role::kWorker, 1);
  options.identity.job_fingerprint = 43;
  expect_refused(options, absl::StatusCode::kFailedPrecondition, "another job");
  expect_refused(ClientOptions(Role::kWorker, 0), absl::StatusCode::kAlreadyExists,
                 "worker 0 is taken");
  expect_refused(ClientOptions(Role::kWorker, 2), absl::StatusCode::kOutOfRange,
                 "worker 2 is out of range: this run has workers 0 to 1");
  expect_refused(ClientOptions(Role::kServer, 0), absl::StatusCode::kOutOfRange, "no servers");
  options = ClientOptions(Role::kWorker, 1);
  options.data_address = "nowhere";
  expect_refused(options, absl::StatusCode::kInvalidArgument, "'nowhere'");

  EXPECT_TRUE(server_->status().ok());
  const absl::StatusOr<Client> second = Join(ClientOptions(Role::kWorker, 1));
  ASSERT_TRUE(second.ok()) << second.status();
  const absl::StatusOr<Client> joined = first.get();
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(watch.calls(), 0);
}

// Whoever has another certificate, or none, is not even heard; nor does a member with one speak to
// a rendezvous without.
TEST_F(RendezvousTest, TlsKeepsOthersOut) {
  const std::string pem = *MakeTlsPem();
  for (const std::string& ours : {pem, std::string()}) {
    RendezvousServer::Options server = ServerOptions(1, 0);
    server.identity.tls_pem = ours;
    StartServer(server);
    for (const std::string& theirs : {std::string(), *MakeTlsPem(), pem}) {
      if (theirs == ours) continue;
      RendezvousClient::Options stranger = ClientOptions(Role::kWorker, 0);
      stranger.identity.tls_pem = theirs;
      stranger.join_s = 0.5;
      const absl::Status status = Join(stranger).status();
      EXPECT_TRUE(absl::StrContains(status.message(), "nobody answers at ")) << status;
      EXPECT_TRUE(absl::StrContains(
          status.message(), theirs.empty() ? "without TLS as this process" : "the same TLS file"))
          << status;
    }
    RendezvousClient::Options member = ClientOptions(Role::kWorker, 0);
    member.identity.tls_pem = ours;
    const absl::StatusOr<Client> joined = Join(member);
    EXPECT_TRUE(joined.ok()) << joined.status();
  }
}

TEST_F(RendezvousTest, RefusesOptionsThatMakeNoRun) {
  EXPECT_EQ(RendezvousServer::Start(ServerOptions(0, 1), clock_).status().code(),
            absl::StatusCode::kInvalidArgument);
  RendezvousClient::Options options = ClientOptions(Role::kWorker, 0);
  options.heartbeat_s = 0;
  EXPECT_EQ(Join(options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace crossover::net
