// What the rendezvous tells those who look on.
#include "net/run_inspection.h"

#include <grpcpp/grpcpp.h>

#include <string>

#include "gtest/gtest.h"
#include "net/grpc_setup.h"
#include "net/observer.h"
#include "net/rendezvous_test_util.h"
#include "proto/status.grpc.pb.h"

namespace crossover::net {
namespace {

class RunInspectionTest : public RendezvousTest {
 protected:
  grpc::Status Ask(grpc::ClientContext& context, proto::MembersStatus& members) {
    context.set_deadline(TimeoutFromNow(kLongS));
    return proto::RunInspection::NewStub(MakeChannel(server_->address(), ""))
        ->Members(&context, proto::StatusRequest(), &members);
  }
  proto::MembersStatus Ask() {
    grpc::ClientContext context;
    SetObserverToken(identity_.token, context);
    proto::MembersStatus members;
    const grpc::Status status = Ask(context, members);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return members;
  }
};

TEST_F(RunInspectionTest, TellsPhasesAndHeartbeats) {
  StartRun(2, 1);
  clients_[1]->SetStatus(3, "train", 0, 0);
  ASSERT_TRUE(Eventually([this] { return server_->members()[1].phase == "train"; }));
  const proto::MembersStatus members = Ask();
  ASSERT_EQ(members.members_size(), 3);
  EXPECT_EQ(members.members(1).role(), proto::WORKER);
  EXPECT_EQ(members.members(1).rank(), 1);
  EXPECT_EQ(members.members(1).phase(), "train");
  EXPECT_EQ(members.members(2).role(), proto::SERVER);
  for (const proto::MembersStatus::Member& member : members.members()) {
    EXPECT_TRUE(member.has_heartbeat_s());
    EXPECT_GE(member.heartbeat_s(), 0);
    EXPECT_LT(member.heartbeat_s(), kLongS);
  }
}

TEST_F(RunInspectionTest, ASilentMembersHeartbeatGrowsOld) {
  RendezvousServer::Options server = ServerOptions(1, 0);
  server.loss_s = 1000;
  StartServer(server);
  RendezvousClient::Options client = ClientOptions(Role::kWorker, 0);
  client.loss_s = 1000;
  client.heartbeat_s = 200;  // by the wall: none comes any more
  JoinAll({client});
  clock_.Forward(100);
  EXPECT_GE(Ask().members(0).heartbeat_s(), 100);
}

TEST_F(RunInspectionTest, WhoHasNotComeOrHasLeftHasNoHeartbeat) {
  StartServer(ServerOptions(1, 0));
  EXPECT_FALSE(Ask().members(0).has_heartbeat_s());
  JoinAll({ClientOptions(Role::kWorker, 0)});
  EXPECT_TRUE(Ask().members(0).has_heartbeat_s());
  ASSERT_TRUE(clients_[0]->Leave().ok());
  const proto::MembersStatus members = Ask();
  EXPECT_FALSE(members.members(0).has_heartbeat_s());
  EXPECT_EQ(members.members(0).phase(), "leave");
}

TEST_F(RunInspectionTest, OnlyTheRunsTokenOpensIt) {
  StartRun(1, 0);
  // None, another run's, a part of it.
  for (const char* token : {"", "fedcba9876543210fedcba9876543210", "0123456789abcdef"}) {
    grpc::ClientContext context;
    if (*token != '\0') SetObserverToken(token, context);
    proto::MembersStatus members;
    const grpc::Status status = Ask(context, members);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_NE(status.error_message().find("has the wrong token"), std::string::npos);
    EXPECT_EQ(members.members_size(), 0);
  }
  grpc::ClientContext twice;
  SetObserverToken(identity_.token, twice);
  SetObserverToken(identity_.token, twice);
  proto::MembersStatus members;
  EXPECT_EQ(Ask(twice, members).error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

}  // namespace
}  // namespace crossover::net
