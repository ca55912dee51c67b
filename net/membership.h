// The rendezvous's rules as a state machine: who has joined, who is alive, which
// barriers are complete, and what ends the run. net/rendezvous_server.h is its
// shell: it feeds in what streams bring and the time, and carries out what comes
// back. Pure: no threads, no sockets, no clock; not thread-safe.
#ifndef CROSSOVER_NET_MEMBERSHIP_H_
#define CROSSOVER_NET_MEMBERSHIP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "net/identity.h"
#include "proto/rendezvous.pb.h"

namespace crossover::net {

// What is known of a member.
struct MemberState {
  Role role = Role::kWorker;
  int rank = 0;
  bool joined = false;
  bool left = false;    // in good order
  std::string address;  // data address, or the peer's address if it has none
  int64_t pid = 0;
  int64_t step = -1;
  std::string phase;  // what it said that it does; empty: nothing yet
  int64_t samples = 0;
  double loss = 0;
};

// "worker 2 at 127.0.0.1:4711 was lost in step 17 (train): connection closed": one line with role,
// rank, address, step, phase and reason.
std::string DescribeLoss(const MemberState& member, const std::string& reason);
// The same of worker 0 as the host of the rendezvous at `address`: the process that tells it was
// in `step`.
std::string DescribeHostLoss(const std::string& address, int64_t step, const std::string& reason);

proto::Role ToProto(Role role);
std::optional<Role> FromProto(proto::Role role);
// The abort's line as an ABORTED status. A failure without a role concerns no one
// process: its reason is the whole line.
absl::Status AbortStatus(const proto::Failure& failure);
inline constexpr size_t kMaxBarrierNameBytes = 100;
inline constexpr size_t kMaxReasonBytes = 1000;  // of a failure; fits a gRPC status's header

class Membership {
 public:
  using StreamId = int64_t;
  struct Options {
    int workers = 1;  // at least 1
    int servers = 0;
    double join_s = 60;
    double loss_s = 10;
    bool hosted_by_worker_0 = false;  // the rendezvous; else by a launcher
  };
  // A message for a stream, or its end with this status. Every stream that was
  // opened is ended exactly once.
  struct Outgoing {
    StreamId stream = 0;
    std::variant<proto::RendezvousMessage, absl::Status> what;
  };
  // A process whose peer died often reports that before the peer's own stream is
  // seen to break. So long a reported failure waits for such a deeper cause.
  static constexpr int64_t kFailureGraceNs = 500'000'000;

  Membership(const Options& options, int64_t now_ns);

  // A caller that says it is this process was turned away: the last reason is told with
  // those that never joined.
  void OnRefused(Role role, int rank, const absl::Status& why);
  // A stream of a caller whose token and fingerprint are right.
  void OnOpen(StreamId id, const Identity& caller, const std::string& peer, int64_t now_ns);
  // Unknown streams (already ended from here) are ignored, as in OnBroken.
  void OnMessage(StreamId id, const proto::MemberMessage& message, int64_t now_ns);
  // The other side is gone; `reason` says how it shows.
  void OnBroken(StreamId id, const std::string& reason);
  // To be called no later than NextDeadlineNs says.
  void OnTime(int64_t now_ns);
  int64_t NextDeadlineNs() const;
  // The first abort wins.
  void Abort(const proto::Failure& failure);

  // What has to be sent since the last call, in order for each stream.
  std::vector<Outgoing> TakeOutgoing();

  std::vector<MemberState> members() const;  // workers by rank, then servers by rank
  absl::Status status() const;               // the first abort's, or OK
  bool ended() const;                        // aborted, or all have left in good order

 private:
  struct Member {
    MemberState state;
    std::optional<StreamId> stream;      // while it is open
    std::optional<std::string> barrier;  // at which it waits
    std::string data_address;            // "" if it has none
    std::string unix_socket;             // "" if it has none
    std::string peer;                    // that its join came from
    bool reported_failure = false;
    // Of who came in its name and was turned away; since its join, if it has joined.
    std::string last_refusal;
  };
  struct Stream {
    Identity caller;
    std::string peer;
    Member* member = nullptr;  // before the hello
    int64_t last_heard_ns = 0;
  };
  struct PendingFailure {
    proto::Failure failure;
    int64_t decide_at_ns = 0;
  };

  void Refuse(StreamId id, const absl::Status& why);
  void OnHello(StreamId id, Stream& stream, const proto::Member& hello);
  void OnMemberMessage(StreamId id, Member& member, const proto::MemberMessage& message,
                       int64_t now_ns);
  void OnPing(StreamId id, Member& member, const proto::Ping& ping, int64_t now_ns);
  void OnBarrier(Member& member, const std::string& name);
  void OnFailure(Member& member, const proto::Failure& failure, int64_t now_ns);
  void OnLeave(StreamId id, Member& member);
  // Publishes the roster, or ends a run whose members cannot reach each other.
  void OnAllJoined();
  void SendRoster();
  void AbortMissing();
  std::string LastRefusals() const;
  void Lose(const Member& member, const std::string& reason);
  void Send(StreamId id, proto::RendezvousMessage message);
  void End(StreamId id, const absl::Status& status);  // and forgets the stream
  void EndAll(const absl::Status& status);
  Member* Find(Role role, int rank);  // null if out of range
  bool AllWorkersLeft() const;

  const Options options_;
  const int64_t join_deadline_ns_;
  const int64_t loss_ns_;
  std::vector<Member> members_;  // never resized: streams point into it
  std::map<StreamId, Stream> streams_;
  std::vector<Outgoing> outgoing_;
  int joined_ = 0;
  int left_ = 0;
  std::optional<PendingFailure> pending_;
  std::optional<proto::Failure> abort_;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_MEMBERSHIP_H_
