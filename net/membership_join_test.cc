// Who may join, and who is told to be missing.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "net/membership.h"
#include "net/membership_fixture.h"

namespace crossover::net {
namespace {

using proto::MemberMessage;
using proto::RendezvousMessage;

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

// With an address or without one, of a process that nobody connects to.
TEST_F(MembershipTest, RefusesAUnixSocketThatNobodyCanName) {
  for (const char* address : {"", "10.0.0.1:4000"}) {
    Start(1, 0);
    const StreamId id = Open(Role::kWorker, 0);
    MemberMessage message;
    message.mutable_hello()->set_role(proto::WORKER);
    message.mutable_hello()->set_data_address(address);
    message.mutable_hello()->set_unix_socket("../run\n/socket");
    Say(id, message);
    ExpectRefused(id, absl::StatusCode::kInvalidArgument, "worker 0: ");
    EXPECT_FALSE(membership_->members()[0].joined);
  }
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
      "address, token and job, or allow more time to join (a job's deadlines.join_s, comm_test's "
      "--deadline_s)",
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
            "and job, or allow more time to join (a job's deadlines.join_s, comm_test's "
            "--deadline_s); refused: worker 0 is "
            "taken: pid 1001 at "
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

}  // namespace
}  // namespace crossover::net
