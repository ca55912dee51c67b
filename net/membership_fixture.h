// For tests of net/membership.h: a membership, the streams of its members and the time they see.
#ifndef CROSSOVER_NET_MEMBERSHIP_FIXTURE_H_
#define CROSSOVER_NET_MEMBERSHIP_FIXTURE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "net/membership.h"

namespace crossover::net {

inline constexpr int64_t kSecondNs = 1'000'000'000;

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
    proto::MemberMessage message;
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
  void Say(StreamId id, const proto::MemberMessage& message) {
    membership_->OnMessage(id, message, now_ns_);
    Collect();
  }
  void Ping(StreamId id, int64_t step) {
    proto::MemberMessage message;
    message.mutable_ping()->set_member_time_ns(77);
    message.mutable_ping()->mutable_status()->set_step(step);
    message.mutable_ping()->mutable_status()->set_phase("train");
    Say(id, message);
  }
  void Barrier(StreamId id, const std::string& name) {
    proto::MemberMessage message;
    message.mutable_barrier()->set_name(name);
    Say(id, message);
  }
  void Leave(StreamId id) {
    proto::MemberMessage message;
    message.mutable_leave();
    Say(id, message);
  }
  void Fail(StreamId id, int64_t step, const std::string& reason) {
    proto::MemberMessage message;
    message.mutable_failure()->set_step(step);
    message.mutable_failure()->set_phase("evaluate");
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
        sent_[outgoing.stream].push_back(std::get<proto::RendezvousMessage>(outgoing.what));
      }
    }
  }
  bool WasSent(StreamId id, proto::RendezvousMessage::KindCase kind) {
    return std::any_of(sent_[id].begin(), sent_[id].end(),
                       [kind](const proto::RendezvousMessage& m) { return m.kind_case() == kind; });
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
  std::map<StreamId, std::vector<proto::RendezvousMessage>> sent_;
  std::map<StreamId, absl::Status> ends_;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_MEMBERSHIP_FIXTURE_H_
