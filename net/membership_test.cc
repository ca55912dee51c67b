#include "net/membership.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "net/membership_fixture.h"

namespace crossover::net {
namespace {

using proto::MemberMessage;
using proto::RendezvousMessage;

TEST_F(MembershipTest, PublishesTheRosterOnceAllHaveJoined) {
  Start(2, 1);
  const StreamId server = Hello(Role::kServer, 0);
  const StreamId second = Hello(Role::kWorker, 1);
  EXPECT_TRUE(sent_.empty());
  const StreamId first = Hello(Role::kWorker, 0);
  for (const StreamId id : {server, second, first}) {
    ASSERT_EQ(sent_[id].size(), 1u);
    const proto::Roster& roster = sent_[id][0].roster();
    ASSERT_EQ(roster.workers_size(), 2);
    EXPECT_EQ(roster.workers(0).data_address(), "10.0.0.1:4000");
    EXPECT_EQ(roster.workers(1).data_address(), "10.0.0.1:4001");
    ASSERT_EQ(roster.servers_size(), 1);
    EXPECT_EQ(roster.servers(0).data_address(), "10.0.0.1:5000");
  }
  EXPECT_TRUE(ends_.empty());
}

TEST_F(MembershipTest, OneWorkerIsARun) {
  const std::vector<StreamId> ids = JoinAll(1, 0);
  EXPECT_TRUE(WasSent(ids[0], RendezvousMessage::kRoster));
  Barrier(ids[0], "start");
  EXPECT_TRUE(WasSent(ids[0], RendezvousMessage::kRelease));
  Leave(ids[0]);
  EXPECT_TRUE(membership_->ended());
  EXPECT_TRUE(membership_->status().ok());
  EXPECT_TRUE(ends_[ids[0]].ok());
}

TEST_F(MembershipTest, AMemberWithoutDataAddressIsKnownByItsPeer) {
  Start(2, 0);
  const StreamId id = Open(Role::kWorker, 0);
  MemberMessage message;
  message.mutable_hello()->set_role(proto::WORKER);
  Say(id, message);
  Hello(Role::kWorker, 1);
  EXPECT_EQ(membership_->members()[0].address, "10.0.0.1:50001");
  EXPECT_EQ(sent_[id][0].roster().workers(0).data_address(), "");
}

// The peers are of 10.0.0.1, where the rendezvous's own host is too.

TEST_F(MembershipTest, ABrokenStreamIsALoss) {
  const std::vector<StreamId> ids = JoinAll(3, 1);
  Ping(ids[2], 17);
  Break(ids[2]);
  ExpectAborted("worker 2 at 10.0.0.1:4002 was lost in step 17 (train): connection closed",
                {ids[0], ids[1], ids[3]});
  EXPECT_TRUE(ends_.contains(ids[2]));
  Break(ids[0]);  // ignored
  EXPECT_TRUE(absl::StartsWith(membership_->status().message(), "worker 2"));
}

TEST_F(MembershipTest, ALossBeforeTheRosterEndsTheRunToo) {
  Start(2, 1);
  const StreamId worker = Hello(Role::kWorker, 0);
  Break(Hello(Role::kServer, 0));
  ExpectAborted(
      "server 0 at 10.0.0.1:5000 was lost before its first step (join): connection closed",
      {worker});
}

TEST_F(MembershipTest, SilenceIsALoss) {
  const std::vector<StreamId> ids = JoinAll(2, 0);
  Advance(6 * kSecondNs);
  Ping(ids[0], 4);
  EXPECT_EQ(membership_->NextDeadlineNs(), 10 * kSecondNs);
  Advance(4 * kSecondNs - 1);
  EXPECT_TRUE(membership_->status().ok());
  Advance(1);
  ExpectAborted(
      "worker 1 at 10.0.0.1:4001 was lost before its first step (join): no sign of life for 10 s",
      {ids[0]});
  EXPECT_EQ(membership_->NextDeadlineNs(), std::numeric_limits<int64_t>::max());
}

TEST_F(MembershipTest, AnswersPingsAndKnowsTheMembers) {
  const std::vector<StreamId> ids = JoinAll(1, 1);
  now_ns_ = 123;
  Ping(ids[0], 5);
  const proto::Pong& pong = sent_[ids[0]].back().pong();
  EXPECT_EQ(pong.member_time_ns(), 77);
  EXPECT_EQ(pong.rendezvous_time_ns(), 123);
  const std::vector<MemberState> members = membership_->members();
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].step, 5);
  EXPECT_EQ(members[0].phase, "train");
  EXPECT_EQ(members[0].pid, 1001);
  EXPECT_TRUE(members[0].joined);
  EXPECT_EQ(members[1].role, Role::kServer);
  EXPECT_EQ(members[1].step, -1);
}

TEST_F(MembershipTest, BarriersReleaseWhenAllWorkersHaveCome) {
  const std::vector<StreamId> ids = JoinAll(2, 1);
  for (const char* name : {"start", "end", "end"}) {
    sent_.clear();
    Barrier(ids[1], name);
    EXPECT_TRUE(sent_.empty());
    Barrier(ids[0], name);
    for (const StreamId id : {ids[0], ids[1]}) {
      ASSERT_EQ(sent_[id].size(), 1u);
      EXPECT_EQ(sent_[id][0].release().name(), name);
    }
    EXPECT_TRUE(sent_[ids[2]].empty());
  }
}

TEST_F(MembershipTest, ABarrierThatNeverCompletesIsAnError) {
  std::vector<StreamId> ids = JoinAll(2, 0);
  Barrier(ids[0], "a");
  Barrier(ids[1], "b");
  ExpectAborted(
      "worker 1 at 10.0.0.1:4001 was lost before its first step (join): it waits at barrier 'b' "
      "while "
      "worker 0 waits at 'a'",
      ids);

  ids = JoinAll(2, 0);
  Barrier(ids[0], "a");
  Leave(ids[1]);
  ExpectAborted(
      "worker 1 at 10.0.0.1:4001 was lost before its first step (join): it left while worker 0 "
      "waits at "
      "barrier 'a'",
      ids);

  ids = JoinAll(2, 0);
  Leave(ids[1]);
  Barrier(ids[0], "a");
  ExpectAborted(
      "worker 1 at 10.0.0.1:4001 was lost before its first step (leave): it left before barrier "
      "'a', at "
      "which worker 0 waits",
      {ids[0]});
}

TEST_F(MembershipTest, AMemberThatBreaksTheRulesIsALoss) {
  const auto expect_loss = [this](const std::vector<StreamId>& ids, const std::string& reason) {
    EXPECT_TRUE(absl::StrContains(membership_->status().message(), reason))
        << membership_->status();
    for (const StreamId id : ids) EXPECT_EQ(ends_[id].code(), absl::StatusCode::kAborted);
  };
  std::vector<StreamId> ids = JoinAll(1, 1);
  MemberMessage hello;
  hello.mutable_hello()->set_role(proto::WORKER);
  Say(ids[0], hello);
  expect_loss(ids, "it said hello twice");

  ids = JoinAll(1, 1);
  Say(ids[0], MemberMessage());
  expect_loss(ids, "it sent a message of no known kind");

  ids = JoinAll(1, 1);
  Barrier(ids[1], "a");
  expect_loss(ids, "server 0 at 10.0.0.1:5000");

  ids = JoinAll(1, 1);
  Barrier(ids[0], "");
  expect_loss(ids, "a name of 0 bytes");

  ids = JoinAll(2, 0);
  Barrier(ids[0], "a");
  Barrier(ids[0], "a");
  expect_loss(ids, "two barriers at once");

  ids = JoinAll(1, 1);
  Leave(ids[1]);
  expect_loss(ids, "it left before the workers had");

  Start(2, 0);
  ids = {Hello(Role::kWorker, 0)};
  Leave(ids[0]);
  expect_loss(ids, "it left before everyone had joined");

  Start(2, 0);
  ids = {Hello(Role::kWorker, 0)};
  Barrier(ids[0], "a");
  expect_loss(ids, "before everyone had joined");
}

TEST_F(MembershipTest, ServersHearWhenAllWorkersHaveLeft) {
  const std::vector<StreamId> ids = JoinAll(2, 2);
  Leave(ids[0]);
  EXPECT_TRUE(ends_[ids[0]].ok());
  EXPECT_FALSE(WasSent(ids[2], RendezvousMessage::kWorkersLeft));
  Leave(ids[1]);
  EXPECT_TRUE(WasSent(ids[2], RendezvousMessage::kWorkersLeft));
  EXPECT_TRUE(WasSent(ids[3], RendezvousMessage::kWorkersLeft));
  Leave(ids[2]);
  EXPECT_FALSE(membership_->ended());
  const StreamId stranger = Open(Role::kWorker, 0);
  Leave(ids[3]);
  EXPECT_TRUE(membership_->ended());
  EXPECT_TRUE(membership_->status().ok());
  EXPECT_EQ(ends_[stranger].message(), "the run has ended");
  EXPECT_EQ(ends_[Open(Role::kWorker, 1)].message(), "the run has ended");
  EXPECT_TRUE(membership_->members()[1].left);
}

TEST_F(MembershipTest, AServerLostAfterTheWorkersLeftIsStillALoss) {
  const std::vector<StreamId> ids = JoinAll(1, 2);
  Leave(ids[0]);
  Break(ids[1]);
  ExpectAborted(
      "server 0 at 10.0.0.1:5000 was lost before its first step (join): connection closed",
      {ids[2]});
}

TEST_F(MembershipTest, AReportedFailureAbortsWithItsReason) {
  const std::vector<StreamId> ids = JoinAll(2, 0);
  Fail(ids[1], 9, "disk\nfull");
  EXPECT_TRUE(membership_->status().ok());
  EXPECT_EQ(membership_->NextDeadlineNs(), Membership::kFailureGraceNs);
  Advance(Membership::kFailureGraceNs);
  ExpectAborted("worker 1 at 10.0.0.1:4001 was lost in step 9 (evaluate): disk?full", ids);
}

TEST_F(MembershipTest, AReporterMayGoBeforeItsReasonIsTold) {
  const std::vector<StreamId> ids = JoinAll(2, 0);
  Fail(ids[1], 9, "disk full");
  Break(ids[1]);
  Advance(Membership::kFailureGraceNs);
  ExpectAborted("worker 1 at 10.0.0.1:4001 was lost in step 9 (evaluate): disk full", {ids[0]});
}

TEST_F(MembershipTest, ABrokenStreamIsADeeperCauseThanWhatOthersReportOfIt) {
  const std::vector<StreamId> ids = JoinAll(3, 0);
  Ping(ids[2], 9);
  Fail(ids[0], 9, "worker 2 closed its connection");
  Fail(ids[1], 9, "worker 2 closed its connection");
  Break(ids[1]);
  EXPECT_TRUE(membership_->status().ok());
  Break(ids[2]);
  ExpectAborted("worker 2 at 10.0.0.1:4002 was lost in step 9 (train): connection closed",
                {ids[0]});
}

TEST_F(MembershipTest, AFailureMayNameAnotherMember) {
  const std::vector<StreamId> ids = JoinAll(2, 1);
  Ping(ids[1], 3);
  MemberMessage message;
  message.mutable_failure()->set_role(proto::WORKER);
  message.mutable_failure()->set_rank(1);
  message.mutable_failure()->set_reason("pushed a part of the wrong length");
  Say(ids[2], message);
  Advance(Membership::kFailureGraceNs);
  ExpectAborted(
      "worker 1 at 10.0.0.1:4001 was lost in step 3 (train): pushed a part of the wrong length",
      ids);
}

TEST_F(MembershipTest, TheFirstAbortWins) {
  const std::vector<StreamId> ids = JoinAll(2, 0);
  proto::Failure failure;
  failure.set_reason("interrupted");
  membership_->Abort(failure);
  failure.set_reason("again");
  membership_->Abort(failure);
  Collect();
  ExpectAborted("interrupted", ids);
}

TEST(DescribeLossTest, IsOneLine) {
  MemberState worker;
  worker.rank = 2;
  worker.address = "127.0.0.1:4711";
  worker.step = 17;
  EXPECT_EQ(DescribeLoss(worker, "connection closed"),
            "worker 2 at 127.0.0.1:4711 was lost in step 17: connection closed");
  worker.phase = "train";
  EXPECT_EQ(DescribeLoss(worker, "connection closed"),
            "worker 2 at 127.0.0.1:4711 was lost in step 17 (train): connection closed");
  MemberState server;
  server.role = Role::kServer;
  EXPECT_EQ(DescribeLoss(server, "exited with 1"),
            "server 0 was lost before its first step: exited with 1");
}

}  // namespace
}  // namespace crossover::net
