#include "net/membership.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/check.h"
#include "core/status.h"
#include "net/address.h"
#include "net/one_line.h"
#include "net/reachability.h"
#include "net/unix_socket.h"

namespace crossover::net {
namespace {

using proto::MemberMessage;
using proto::RendezvousMessage;

constexpr size_t kMaxAddressBytes = 300;
constexpr size_t kMaxPhaseBytes = 100;
constexpr size_t kMaxNamedMissing = 16;
// These and the missing fit a failure's reason.
constexpr size_t kMaxToldRefusals = 3;
constexpr size_t kMaxRefusalBytes = 200;

int64_t ToNs(double seconds) {
  constexpr double kMaxSeconds = 1e9;
  return static_cast<int64_t>(std::clamp(seconds, 0.0, kMaxSeconds) * 1e9);
}

std::string NameOf(const MemberState& state) { return ProcessName(state.role, state.rank); }

std::string StepText(int64_t step) {
  return step < 0 ? "before its first step" : absl::StrCat("in step ", step);
}

// "workers 0 to 3"
std::string RanksOf(Role role, int count) {
  if (count == 0) return absl::StrCat("no ", RoleName(role), "s");
  if (count == 1) return absl::StrCat("only ", RoleName(role), " 0");
  return absl::StrCat(RoleName(role), "s 0 to ", count - 1);
}

}  // namespace

std::string DescribeLoss(const MemberState& member, const std::string& reason) {
  std::string text = NameOf(member);
  if (!member.address.empty()) absl::StrAppend(&text, " at ", member.address);
  absl::StrAppend(&text, " was lost ", StepText(member.step));
  if (!member.phase.empty()) absl::StrAppend(&text, " (", member.phase, ")");
  return absl::StrCat(text, ": ", reason);
}

std::string DescribeHostLoss(const std::string& address, int64_t step, const std::string& reason) {
  return absl::StrCat(ProcessName(Role::kWorker, 0), ", which serves the rendezvous at ", address,
                      ", was lost ", StepText(step), ": ", reason);
}

proto::Role ToProto(Role role) { return role == Role::kWorker ? proto::WORKER : proto::SERVER; }

std::optional<Role> FromProto(proto::Role role) {
  if (role == proto::WORKER) return Role::kWorker;
  if (role == proto::SERVER) return Role::kServer;
  return std::nullopt;
}

absl::Status AbortStatus(const proto::Failure& failure) {
  const std::string reason = OneLine(failure.reason(), kMaxReasonBytes);
  const std::optional<Role> role = FromProto(failure.role());
  if (!role) return absl::AbortedError(reason);
  MemberState lost;
  lost.role = *role;
  lost.rank = failure.rank();
  lost.address = OneLine(failure.address(), kMaxAddressBytes);
  lost.step = failure.step();
  lost.phase = OneLine(failure.phase(), kMaxPhaseBytes);
  return absl::AbortedError(DescribeLoss(lost, reason));
}

Membership::Membership(const Options& options, int64_t now_ns)
    : options_(options),
      join_deadline_ns_(now_ns + ToNs(options.join_s)),
      loss_ns_(ToNs(options.loss_s)) {
  CROSSOVER_CHECK(options.workers >= 1 && options.servers >= 0, "a run has members");
  for (int rank = 0; rank < options.workers + options.servers; ++rank) {
    Member& member = members_.emplace_back();
    const bool worker = rank < options.workers;
    member.state.role = worker ? Role::kWorker : Role::kServer;
    member.state.rank = worker ? rank : rank - options.workers;
  }
}

void Membership::OnRefused(Role role, int rank, const absl::Status& why) {
  Member* const member = Find(role, rank);
  if (member != nullptr) {
    member->last_refusal =
        OneLine(std::string_view(why.message().data(), why.message().size()), kMaxRefusalBytes);
  }
}

void Membership::Refuse(StreamId id, const absl::Status& why) {
  const Identity& caller = streams_.at(id).caller;
  OnRefused(caller.role, caller.rank, why);
  End(id, why);
}

void Membership::OnOpen(StreamId id, const Identity& caller, const std::string& peer,
                        int64_t now_ns) {
  Stream stream;
  stream.caller = caller;
  stream.peer = peer;
  stream.last_heard_ns = now_ns;
  CROSSOVER_CHECK(streams_.emplace(id, stream).second, "stream ids are not used twice");
  if (abort_) {
    End(id, status());
  } else if (ended()) {
    End(id, absl::FailedPreconditionError("the run has ended"));
  }
}

void Membership::OnMessage(StreamId id, const MemberMessage& message, int64_t now_ns) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  stream.last_heard_ns = now_ns;
  if (stream.member != nullptr) {
    OnMemberMessage(id, *stream.member, message, now_ns);
  } else if (message.kind_case() == MemberMessage::kHello) {
    OnHello(id, stream, message.hello());
  } else {
    Refuse(id, absl::InvalidArgumentError(
                   absl::StrCat(ProcessName(stream.caller.role, stream.caller.rank), " at ",
                                stream.peer, " sent another message before its hello")));
  }
}

void Membership::OnHello(StreamId id, Stream& stream, const proto::Member& hello) {
  const Identity& caller = stream.caller;
  const std::string name = ProcessName(caller.role, caller.rank);
  if (FromProto(hello.role()) != caller.role || hello.rank() != caller.rank) {
    return Refuse(id, absl::InvalidArgumentError(absl::StrCat(
                          name, " at ", stream.peer, " says in its hello that it is another")));
  }
  Member* const member = Find(caller.role, caller.rank);
  if (member == nullptr) {
    const int count = caller.role == Role::kWorker ? options_.workers : options_.servers;
    return Refuse(id, absl::OutOfRangeError(absl::StrCat(name, " is out of range: this run has ",
                                                         RanksOf(caller.role, count))));
  }
  MemberState& state = member->state;
  if (state.joined) {
    return Refuse(id, absl::AlreadyExistsError(absl::StrCat(
                          name, " is taken: pid ", state.pid, " at ", state.address,
                          " has joined as ", name, "; give every process a rank of its own")));
  }
  const absl::Status named = CheckUnixSocketName(hello.unix_socket());
  if (!named.ok()) return Refuse(id, Annotate(named, absl::StrCat(name, ": ")));
  if (!hello.data_address().empty()) {
    const absl::StatusOr<HostPort> address = ParseHostPort(hello.data_address());
    if (!address.ok() || address->port == 0 || hello.data_address().size() > kMaxAddressBytes) {
      return Refuse(id, absl::InvalidArgumentError(absl::StrCat(
                            name, " at ", stream.peer, " has no host:port for its data address: '",
                            OneLine(hello.data_address(), kMaxAddressBytes), "'")));
    }
    const absl::Status usable = CheckAdvertised({name, hello.data_address(), stream.peer});
    if (!usable.ok()) return Refuse(id, usable);
  }
  state.joined = true;
  member->last_refusal.clear();
  state.address = hello.data_address().empty() ? stream.peer : hello.data_address();
  state.pid = hello.pid();
  state.phase = "join";
  member->stream = id;
  member->data_address = hello.data_address();
  member->unix_socket = hello.unix_socket();
  member->peer = stream.peer;
  stream.member = member;
  if (++joined_ == static_cast<int>(members_.size())) OnAllJoined();
}

void Membership::OnAllJoined() {
  std::vector<MemberAddresses> addresses;
  for (const Member& member : members_) {
    addresses.push_back({NameOf(member.state), member.data_address, member.peer});
  }
  const absl::Status reachable = CheckReachable(addresses);
  if (reachable.ok()) return SendRoster();
  proto::Failure failure;
  failure.set_reason(std::string(reachable.message()));
  Abort(failure);
}

void Membership::SendRoster() {
  RendezvousMessage message;
  message.mutable_roster()->set_hosted_by_worker_0(options_.hosted_by_worker_0);
  for (const Member& member : members_) {
    proto::Member& entry =
        *(member.state.role == Role::kWorker ? message.mutable_roster()->add_workers()
                                             : message.mutable_roster()->add_servers());
    entry.set_role(ToProto(member.state.role));
    entry.set_rank(member.state.rank);
    entry.set_data_address(member.data_address);
    entry.set_unix_socket(member.unix_socket);
    entry.set_pid(member.state.pid);
  }
  for (const Member& member : members_) {
    if (member.stream) Send(*member.stream, message);
  }
}

void Membership::OnMemberMessage(StreamId id, Member& member, const MemberMessage& message,
                                 int64_t now_ns) {
  switch (message.kind_case()) {
    case MemberMessage::kHello:
      return Lose(member, "it said hello twice");
    case MemberMessage::kPing:
      return OnPing(id, member, message.ping(), now_ns);
    case MemberMessage::kBarrier:
      return OnBarrier(member, message.barrier().name());
    case MemberMessage::kFailure:
      return OnFailure(member, message.failure(), now_ns);
    case MemberMessage::kLeave:
      return OnLeave(id, member);
    case MemberMessage::KIND_NOT_SET:
      return Lose(member, "it sent a message of no known kind");
  }
}

void Membership::OnPing(StreamId id, Member& member, const proto::Ping& ping, int64_t now_ns) {
  MemberState& state = member.state;
  state.step = std::max<int64_t>(ping.status().step(), -1);
  state.phase = OneLine(ping.status().phase(), kMaxPhaseBytes);
  state.samples = ping.status().samples();
  state.loss = ping.status().loss();
  RendezvousMessage message;
  message.mutable_pong()->set_member_time_ns(ping.member_time_ns());
  message.mutable_pong()->set_rendezvous_time_ns(now_ns);
  Send(id, std::move(message));
}

void Membership::OnBarrier(Member& member, const std::string& name) {
  const std::string quoted = absl::StrCat("barrier '", OneLine(name, kMaxBarrierNameBytes), "'");
  if (member.state.role != Role::kWorker) return Lose(member, "a server came to a barrier");
  if (name.empty() || name.size() > kMaxBarrierNameBytes) {
    return Lose(member, absl::StrCat("it came to a barrier with a name of ", name.size(),
                                     " bytes; 1 to ", kMaxBarrierNameBytes, " are allowed"));
  }
  if (member.barrier) return Lose(member, "it waits at two barriers at once");
  if (joined_ < static_cast<int>(members_.size())) {
    return Lose(member, "it came to a barrier before everyone had joined");
  }
  member.barrier = name;
  bool complete = true;
  for (const Member& other : members_) {
    if (other.state.role != Role::kWorker) continue;
    // Either would leave all of them waiting for ever.
    if (other.state.left) {
      return Lose(other, absl::StrCat("it left before ", quoted, ", at which ",
                                      NameOf(member.state), " waits"));
    }
    if (other.barrier && *other.barrier != name) {
      return Lose(member, absl::StrCat("it waits at ", quoted, " while ", NameOf(other.state),
                                       " waits at '", *other.barrier, "'"));
    }
    complete = complete && other.barrier.has_value();
  }
  if (!complete) return;
  RendezvousMessage release;
  release.mutable_release()->set_name(name);
  for (Member& worker : members_) {
    if (worker.state.role != Role::kWorker) continue;
    worker.barrier.reset();
    if (worker.stream) Send(*worker.stream, release);
  }
}

void Membership::OnFailure(Member& member, const proto::Failure& failure, int64_t now_ns) {
  member.reported_failure = true;
  if (pending_) return;
  const std::optional<Role> role = FromProto(failure.role());
  const Member* named = role ? Find(*role, failure.rank()) : nullptr;
  if (named == nullptr) named = &member;
  PendingFailure pending;
  pending.decide_at_ns = now_ns + kFailureGraceNs;
  pending.failure.set_role(ToProto(named->state.role));
  pending.failure.set_rank(named->state.rank);
  pending.failure.set_address(named->state.address);
  // A process knows its own step and phase better than its last heartbeat does.
  const bool itself = named == &member;
  pending.failure.set_step(itself ? failure.step() : named->state.step);
  pending.failure.set_phase(itself ? OneLine(failure.phase(), kMaxPhaseBytes) : named->state.phase);
  pending.failure.set_reason(OneLine(failure.reason(), kMaxReasonBytes));
  pending_ = std::move(pending);
}

void Membership::OnLeave(StreamId id, Member& member) {
  if (joined_ < static_cast<int>(members_.size())) {
    return Lose(member, "it left before everyone had joined");
  }
  if (member.state.role == Role::kServer && !AllWorkersLeft()) {
    return Lose(member, "it left before the workers had");
  }
  for (const Member& other : members_) {
    if (!other.barrier) continue;
    return Lose(member, absl::StrCat("it left while ", NameOf(other.state), " waits at barrier '",
                                     *other.barrier, "'"));
  }
  member.state.left = true;
  member.state.phase = "leave";
  ++left_;
  End(id, absl::OkStatus());
  if (member.state.role == Role::kWorker && AllWorkersLeft()) {
    RendezvousMessage message;
    message.mutable_workers_left();
    for (const Member& server : members_) {
      if (server.stream) Send(*server.stream, message);
    }
  }
  if (ended()) EndAll(absl::FailedPreconditionError("the run has ended"));
}

void Membership::OnBroken(StreamId id, const std::string& reason) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Member* const member = found->second.member;
  End(id, absl::CancelledError(reason));
  if (member == nullptr) return;
  // Having said why it gives up it may go; the others hear of it in OnTime.
  if (member->reported_failure) return;
  Lose(*member, reason);
}

void Membership::OnTime(int64_t now_ns) {
  if (ended()) return;
  if (pending_ && now_ns >= pending_->decide_at_ns) return Abort(pending_->failure);
  if (joined_ < static_cast<int>(members_.size()) && now_ns >= join_deadline_ns_) {
    return AbortMissing();
  }
  std::vector<StreamId> silent;
  for (const auto& [id, stream] : streams_) {
    if (now_ns - stream.last_heard_ns >= loss_ns_) silent.push_back(id);
  }
  for (const StreamId id : silent) {
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;  // one loss has ended them all
    const Stream& stream = found->second;
    if (stream.member != nullptr) {
      OnBroken(id, absl::StrFormat("no sign of life for %g s", options_.loss_s));
    } else {
      Refuse(id, absl::DeadlineExceededError(
                     absl::StrFormat("%s at %s said no hello within %g s",
                                     ProcessName(stream.caller.role, stream.caller.rank),
                                     stream.peer, options_.loss_s)));
    }
  }
}

int64_t Membership::NextDeadlineNs() const {
  int64_t deadline_ns = std::numeric_limits<int64_t>::max();
  if (ended()) return deadline_ns;
  if (pending_) deadline_ns = pending_->decide_at_ns;
  if (joined_ < static_cast<int>(members_.size())) {
    deadline_ns = std::min(deadline_ns, join_deadline_ns_);
  }
  for (const auto& [id, stream] : streams_) {
    deadline_ns = std::min(deadline_ns, stream.last_heard_ns + loss_ns_);
  }
  return deadline_ns;
}

void Membership::AbortMissing() {
  std::vector<std::string> missing;
  for (const Member& member : members_) {
    if (!member.state.joined) missing.push_back(NameOf(member.state));
  }
  const size_t unnamed = missing.size() - std::min(missing.size(), kMaxNamedMissing);
  missing.resize(missing.size() - unnamed);
  proto::Failure failure;
  failure.set_reason(absl::StrFormat(
      "%s%s never joined within %g s: start them with the same rendezvous address, token and job, "
      "or allow more time to join (a job's deadlines.join_s, comm_test's --deadline_s)%s",
      absl::StrJoin(missing, ", "), unnamed > 0 ? absl::StrCat(" and ", unnamed, " more") : "",
      options_.join_s, LastRefusals()));
  Abort(failure);
}

std::string Membership::LastRefusals() const {
  std::vector<std::string> refusals;
  for (const Member& member : members_) {
    if (!member.last_refusal.empty()) refusals.push_back(member.last_refusal);
  }
  if (refusals.empty()) return "";
  const size_t untold = refusals.size() - std::min(refusals.size(), kMaxToldRefusals);
  refusals.resize(refusals.size() - untold);
  return absl::StrCat("; refused: ", absl::StrJoin(refusals, "; "),
                      untold > 0 ? absl::StrCat("; and ", untold, " more") : "");
}

void Membership::Lose(const Member& member, const std::string& reason) {
  proto::Failure failure;
  failure.set_role(ToProto(member.state.role));
  failure.set_rank(member.state.rank);
  failure.set_address(member.state.address);
  failure.set_step(member.state.step);
  failure.set_phase(member.state.phase);
  failure.set_reason(reason);
  Abort(failure);
}

void Membership::Abort(const proto::Failure& failure) {
  if (ended()) return;
  abort_ = failure;
  abort_->set_reason(OneLine(failure.reason(), kMaxReasonBytes));
  RendezvousMessage message;
  *message.mutable_abort() = *abort_;
  for (const Member& member : members_) {
    if (member.stream) Send(*member.stream, message);
  }
  EndAll(status());
}

void Membership::Send(StreamId id, RendezvousMessage message) {
  outgoing_.push_back({id, std::move(message)});
}

void Membership::End(StreamId id, const absl::Status& status) {
  const auto found = streams_.find(id);
  if (found->second.member != nullptr) found->second.member->stream.reset();
  streams_.erase(found);
  outgoing_.push_back({id, status});
}

void Membership::EndAll(const absl::Status& status) {
  while (!streams_.empty()) End(streams_.begin()->first, status);
}

std::vector<Membership::Outgoing> Membership::TakeOutgoing() {
  return std::exchange(outgoing_, {});
}

Membership::Member* Membership::Find(Role role, int rank) {
  const int count = role == Role::kWorker ? options_.workers : options_.servers;
  if (rank < 0 || rank >= count) return nullptr;
  return &members_[static_cast<size_t>(role == Role::kWorker ? rank : options_.workers + rank)];
}

bool Membership::AllWorkersLeft() const {
  return std::all_of(members_.begin(), members_.begin() + options_.workers,
                     [](const Member& worker) { return worker.state.left; });
}

std::vector<MemberState> Membership::members() const {
  std::vector<MemberState> states;
  for (const Member& member : members_) states.push_back(member.state);
  return states;
}

absl::Status Membership::status() const { return abort_ ? AbortStatus(*abort_) : absl::OkStatus(); }

bool Membership::ended() const {
  return abort_.has_value() || left_ == static_cast<int>(members_.size());
}

}  // namespace crossover::net
