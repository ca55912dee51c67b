#include "net/membership.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace crossover::net {
namespace {

using proto::MemberMessage;
using proto::RendezvousMessage;

constexpr int64_t kSecondNs = 1'000'000'000;

// A membership, and what each stream was sent and ended with.
class MembershipTest : public testing::Test {
 protected:
  using StreamId = Membership::StreamId;

  void Start(int workers, int servers) {
    membership_.emplace(Membership::Options{workers, servers, /*join_s=*/60, /*loss_s=*/10}, 0);
  }
  StreamId Open(Role role, int rank) {
    const StreamId id = next_++;
    Identity caller;
    caller.role = role;
    caller.rank = rank;
    membership_->OnOpen(id, caller, absl::StrCat("10.0.0.1:", 50'000 + id), now_ns_);
    Collect();
    return id;
  }
  StreamId Hello(Role role, int rank) {
    const StreamId id = Open(role, rank);
    MemberMessage message;
    message.mutable_hello()->set_role(ToProto(role));
    message.mutable_hello()->set_rank(rank);
    message.mutable_hello()->set_data_address(Address(role, rank));
    message.mutable_hello()->set_pid(1000 + id);
    Say(id, message);
    return id;
  }
  // Everyone joins; streams by worker rank, then server rank.
  std::vector<StreamId> JoinAll(int workers, int servers) {
    Start(workers, servers);
    std::vector<StreamId> ids;
    for (int rank = 0; rank < workers; ++rank) ids.push_back(Hello(Role::kWorker, rank));
    for (int rank = 0; rank < servers; ++rank) ids.push_back(Hello(Role::kServer, rank));
    return ids;
  }
  static std::string Address(Role role, int rank) {
    return absl::StrCat("10.0.0.1:", role == Role::kWorker ? 4000 + rank : 5000 + rank);
  }
  void Say(StreamId id, const MemberMessage& message) {
    membership_->OnMessage(id, message, now_ns_);
    Collect();
  }
  void Ping(StreamId id, int64_t step) {
    MemberMessage message;
    message.mutable_ping()->set_member_time_ns(77);
    message.mutable_ping()->mutable_status()->set_step(step);
    message.mutable_ping()->mutable_status()->set_phase("train");
    Say(id, message);
  }
  void Barrier(StreamId id, const std::string& name) {
    MemberMessage message;
    message.mutable_barrier()->set_name(name);
    Say(id, message);
  }
  void Leave(StreamId id) {
    MemberMessage message;
    message.mutable_leave();
    Say(id, message);
  }
  void Fail(StreamId id, int64_t step, const std::string& reason) {
    MemberMessage message;
    message.mutable_failure()->set_step(step);
    message.mutable_failure()->set_reason(reason);
    Say(id, message);
  }
  void Break(StreamId id) {
    membership_->OnBroken(id, "connection closed");
    Collect();
  }
  void Advance(int64_t ns) {
    now_ns_ += ns;
    membership_->OnTime(now_ns_);
    Collect();
  }
  void Collect() {
    for (Membership::Outgoing& outgoing : membership_->TakeOutgoing()) {
      ASSERT_FALSE(ends_.contains(outgoing.stream)) << "sent after the end";
      if (absl::Status* end = std::get_if<absl::Status>(&outgoing.what)) {
        ends_[outgoing.stream] = *end;
      } else {
        sent_[outgoing.stream].push_back(std::get<RendezvousMessage>(outgoing.what));
      }
    }
  }
  bool WasSent(StreamId id, RendezvousMessage::KindCase kind) {
    return std::any_of(sent_[id].begin(), sent_[id].end(),
                       [kind](const RendezvousMessage& m) { return m.kind_case() == kind; });
  }
  // The run is over with this line, and every given stream was told and ended.
  void ExpectAborted(const std::string& line, const std::vector<StreamId>& streams) {
    EXPECT_EQ(membership_->status().message(), line);
    EXPECT_EQ(membership_->status().code(), absl::StatusCode::kAborted);
    for (const StreamId id : streams) {
      ASSERT_FALSE(sent_[id].empty());
      EXPECT_EQ(AbortStatus(sent_[id].back().abort()), membership_->status());
      ASSERT_TRUE(ends_.contains(id));
      EXPECT_EQ(ends_[id], membership_->status());
    }
  }
  void ExpectRefused(StreamId id, absl::StatusCode code, const std::string& part) {
    ASSERT_TRUE(ends_.contains(id));
    EXPECT_EQ(ends_[id].code(), code);
    EXPECT_TRUE(absl::StrContains(ends_[id].message(), part)) << ends_[id];
    EXPECT_TRUE(membership_->status().ok()) << "harmed the run: " << membership_->status();
  }

  std::optional<Membership> membership_;
  int64_t now_ns_ = 0;
  StreamId next_ = 1;
  std::map<StreamId, std::vector<RendezvousMessage>> sent_;
  std::map<StreamId, absl::Status> ends_;
};

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
TEST_F(MembershipTest, ARankOnLoopbackAmongSeveralHostsEndsTheRunByName) {
  Start(2, 1);
  std::vector<StreamId> ids = {Hello(Role::kWorker, 0), Hello(Role::kServer, 0)};
  ids.push_back(Open(Role::kWorker, 1));
  MemberMessage message;
  message.mutable_hello()->set_role(proto::WORKER);
  message.mutable_hello()->set_rank(1);
  message.mutable_hello()->set_data_address("127.0.0.1:4001");
  Say(ids.back(), message);
  ExpectAborted(
      "worker 1 listens on 127.0.0.1:4001, which only its own host reaches, but worker 0 listens "
      "on 10.0.0.1:4000; fix: start worker 1 with --interface=10.0.0.1, whence it joined, or with "
      "a name or CIDR",
      ids);
  EXPECT_FALSE(WasSent(ids[0], RendezvousMessage::kRoster));
}

TEST_F(MembershipTest, RefusesAnAddressThatNobodyCanConnectTo) {
  Start(1, 0);
  const StreamId id = Open(Role::kWorker, 0);
  MemberMessage message;
  message.mutable_hello()->set_role(proto::WORKER);
  message.mutable_hello()->set_data_address("0.0.0.0:4000");
  Say(id, message);
  ExpectRefused(id, absl::StatusCode::kInvalidArgument,
                "worker 0 at 10.0.0.1:50001 listens on 0.0.0.0:4000, which its peers cannot");
  EXPECT_FALSE(membership_->members()[0].joined);
}

TEST_F(MembershipTest, RefusesStrangersAndHarmsNobody) {
  Start(2, 1);
  const StreamId first = Hello(Role::kWorker, 0);
  ExpectRefused(Hello(Role::kWorker, 0), absl::StatusCode::kAlreadyExists,
                "worker 0 is taken: pid 1001 at 10.0.0.1:4000 has joined");
  ExpectRefused(Hello(Role::kWorker, 2), absl::StatusCode::kOutOfRange,
                "worker 2 is out of range: this run has workers 0 to 1");
  ExpectRefused(Hello(Role::kServer, 1), absl::StatusCode::kOutOfRange, "only server 0");
  ExpectRefused(Hello(Role::kWorker, -1), absl::StatusCode::kOutOfRange, "worker -1");

  const StreamId hasty = Open(Role::kWorker, 1);
  Ping(hasty, 3);
  ExpectRefused(hasty, absl::StatusCode::kInvalidArgument, "another message before its hello");
  const StreamId empty = Open(Role::kWorker, 1);
  Say(empty, MemberMessage());
  ExpectRefused(empty, absl::StatusCode::kInvalidArgument, "another message before its hello");

  const StreamId liar = Open(Role::kWorker, 1);
  MemberMessage hello;
  hello.mutable_hello()->set_role(proto::SERVER);
  hello.mutable_hello()->set_rank(1);
  Say(liar, hello);
  ExpectRefused(liar, absl::StatusCode::kInvalidArgument, "says in its hello that it is another");

  for (const std::string& address : {std::string("nowhere"), std::string("10.0.0.1:0"),
                                     std::string("10.0.0.1:x\n"), std::string(400, 'a') + ":1"}) {
    const StreamId lost = Open(Role::kWorker, 1);
    hello.mutable_hello()->set_role(proto::WORKER);
    hello.mutable_hello()->set_data_address(address);
    Say(lost, hello);
    ExpectRefused(lost, absl::StatusCode::kInvalidArgument, "data address");
  }
  const StreamId quiet = Open(Role::kServer, 0);
  Break(quiet);
  EXPECT_FALSE(ends_[quiet].ok());

  EXPECT_FALSE(ends_.contains(first));
  Hello(Role::kServer, 0);
  Hello(Role::kWorker, 1);
  EXPECT_TRUE(WasSent(first, RendezvousMessage::kRoster));
}

TEST_F(MembershipTest, AStreamThatNeverSaysHelloIsEnded) {
  Start(1, 0);
  const StreamId id = Open(Role::kWorker, 0);
  EXPECT_EQ(membership_->NextDeadlineNs(), 10 * kSecondNs);
  Advance(10 * kSecondNs);
  ExpectRefused(id, absl::StatusCode::kDeadlineExceeded,
                "worker 0 at 10.0.0.1:50001 said no hello within 10 s");
}

TEST_F(MembershipTest, NamesTheMissingAtTheJoinDeadline) {
  Start(3, 1);
  const StreamId id = Hello(Role::kWorker, 1);
  for (int second = 0; second < 59; second += 5) {
    Ping(id, -1);
    Advance(5 * kSecondNs);
  }
  ExpectAborted(
      "worker 0, worker 2, server 0 never joined within 60 s: start them with the same rendezvous "
      "address, token and job, or raise deadlines.join_s",
      {id});
  // Who comes later hears it too.
  EXPECT_EQ(ends_[Open(Role::kWorker, 0)], membership_->status());
}

TEST_F(MembershipTest, TellsWhyTheMissingWereRefused) {
  Start(2, 1);
  Hello(Role::kWorker, 0);
  const absl::Status stranger = absl::PermissionDeniedError("worker 1 has the\nwrong token");
  membership_->OnRefused(Role::kWorker, 1, absl::FailedPreconditionError("another job"));
  membership_->OnRefused(Role::kWorker, 1, stranger);  // the last counts
  membership_->OnRefused(Role::kWorker, 2, stranger);  // there is no such member
  // One that comes again, rightly, is not missing.
  membership_->OnRefused(Role::kServer, 0, stranger);
  Hello(Role::kServer, 0);
  // Whoever takes another's rank is missing at its own.
  Hello(Role::kWorker, 0);
  now_ns_ = 60 * kSecondNs;
  Advance(0);
  EXPECT_EQ(membership_->status().message(),
            "worker 1 never joined within 60 s: start them with the same rendezvous address, token "
            "and job, or raise deadlines.join_s; refused: worker 0 is taken: pid 1001 at "
            "10.0.0.1:4000 has joined as worker 0; give every process a rank of its own; worker 1 "
            "has the?wrong token");
}

TEST_F(MembershipTest, RefusalsAreBounded) {
  Start(100, 0);
  for (int rank = 0; rank < 100; ++rank) {
    membership_->OnRefused(Role::kWorker, rank,
                           absl::PermissionDeniedError(std::string(100'000, 'x')));
  }
  Advance(60 * kSecondNs);
  const std::string line(membership_->status().message());
  EXPECT_LE(line.size(), kMaxReasonBytes);
  EXPECT_TRUE(absl::EndsWith(line, "; and 97 more")) << line;
}

TEST_F(MembershipTest, ManyMissingAreCounted) {
  Start(100, 0);
  Advance(60 * kSecondNs);
  EXPECT_TRUE(
      absl::StrContains(membership_->status().message(), "worker 15 and 84 more never joined"))
      << membership_->status();
}

TEST_F(MembershipTest, ABrokenStreamIsALoss) {
  const std::vector<StreamId> ids = JoinAll(3, 1);
  Ping(ids[2], 17);
  Break(ids[2]);
  ExpectAborted("worker 2 at 10.0.0.1:4002 was lost in step 17: connection closed",
                {ids[0], ids[1], ids[3]});
  EXPECT_TRUE(ends_.contains(ids[2]));
  Break(ids[0]);  // ignored
  EXPECT_TRUE(absl::StartsWith(membership_->status().message(), "worker 2"));
}

TEST_F(MembershipTest, ALossBeforeTheRosterEndsTheRunToo) {
  Start(2, 1);
  const StreamId worker = Hello(Role::kWorker, 0);
  Break(Hello(Role::kServer, 0));
  ExpectAborted("server 0 at 10.0.0.1:5000 was lost before its first step: connection closed",
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
      "worker 1 at 10.0.0.1:4001 was lost before its first step: no sign of life for 10 s",
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
      "worker 1 at 10.0.0.1:4001 was lost before its first step: it waits at barrier 'b' while "
      "worker 0 waits at 'a'",
      ids);

  ids = JoinAll(2, 0);
  Barrier(ids[0], "a");
  Leave(ids[1]);
  ExpectAborted(
      "worker 1 at 10.0.0.1:4001 was lost before its first step: it left while worker 0 waits at "
      "barrier 'a'",
      ids);

  ids = JoinAll(2, 0);
  Leave(ids[1]);
  Barrier(ids[0], "a");
  ExpectAborted(
      "worker 1 at 10.0.0.1:4001 was lost before its first step: it left before barrier 'a', at "
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
  ExpectAborted("server 0 at 10.0.0.1:5000 was lost before its first step: connection closed",
                {ids[2]});
}

TEST_F(MembershipTest, AReportedFailureAbortsWithItsReason) {
  const std::vector<StreamId> ids = JoinAll(2, 0);
  Fail(ids[1], 9, "disk\nfull");
  EXPECT_TRUE(membership_->status().ok());
  EXPECT_EQ(membership_->NextDeadlineNs(), Membership::kFailureGraceNs);
  Advance(Membership::kFailureGraceNs);
  ExpectAborted("worker 1 at 10.0.0.1:4001 was lost in step 9: disk?full", ids);
}

TEST_F(MembershipTest, AReporterMayGoBeforeItsReasonIsTold) {
  const std::vector<StreamId> ids = JoinAll(2, 0);
  Fail(ids[1], 9, "disk full");
  Break(ids[1]);
  Advance(Membership::kFailureGraceNs);
  ExpectAborted("worker 1 at 10.0.0.1:4001 was lost in step 9: disk full", {ids[0]});
}

TEST_F(MembershipTest, ABrokenStreamIsADeeperCauseThanWhatOthersReportOfIt) {
  const std::vector<StreamId> ids = JoinAll(3, 0);
  Ping(ids[2], 9);
  Fail(ids[0], 9, "worker 2 closed its connection");
  Fail(ids[1], 9, "worker 2 closed its connection");
  Break(ids[1]);
  EXPECT_TRUE(membership_->status().ok());
  Break(ids[2]);
  ExpectAborted("worker 2 at 10.0.0.1:4002 was lost in step 9: connection closed", {ids[0]});
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
  ExpectAborted("worker 1 at 10.0.0.1:4001 was lost in step 3: pushed a part of the wrong length",
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
  EXPECT_EQ(DescribeLoss(Role::kWorker, 2, "127.0.0.1:4711", 17, "connection closed"),
            "worker 2 at 127.0.0.1:4711 was lost in step 17: connection closed");
  EXPECT_EQ(DescribeLoss(Role::kServer, 0, "", -1, "exited with 1"),
            "server 0 was lost before its first step: exited with 1");
}

}  // namespace
}  // namespace crossover::net
