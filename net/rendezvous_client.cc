#include "net/rendezvous_client.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status.h"
#include "net/grpc_setup.h"
#include "net/join_stream.h"
#include "net/membership.h"
#include "net/one_line.h"
#include "net/roster.h"
#include "proto/rendezvous.pb.h"

namespace crossover::net {
namespace {

using proto::MemberMessage;
using proto::RendezvousMessage;

// The first pings follow each other at once: the shortest of a few round trips is a
// usable clock offset from the first step on.
constexpr int kQuickPings = 8;
constexpr double kReportS = 2;
constexpr double kMaxWaitS = 1e8;

int64_t ToNs(double seconds) {
  return static_cast<int64_t>(std::clamp(seconds, 0.0, kMaxWaitS) * 1e9);
}

std::chrono::nanoseconds Until(int64_t deadline_ns, int64_t now_ns) {
  return std::chrono::nanoseconds(std::clamp<int64_t>(deadline_ns - now_ns, 0, ToNs(kMaxWaitS)));
}

}  // namespace

// One mutex guards what is known; the stream (which has its own) is never called under
// it. The heartbeat thread sends pings, watches for silence, and calls on_abort.
class RendezvousClient::Impl {
 public:
  Impl(const Options& options, const Clock& clock,
       std::function<void(const absl::Status&)> on_abort);
  ~Impl();
  absl::Status Join();

  const Roster& roster() const { return *roster_; }  // not changed after Join
  void SetStatus(int64_t step, const std::string& phase, int64_t samples, double loss);
  absl::Status Barrier(const std::string& name, double timeout_s);
  void ReportFailure(const absl::Status& why);
  absl::Status WaitForWorkersToLeave();
  absl::Status Leave();
  absl::Status status() const;
  ClockOffset clock_offset() const;

 private:
  // The stream's handlers.
  void OnMessage(const RendezvousMessage& message);
  void OnEnd(const absl::Status& status);

  void HeartbeatLoop();
  // With the mutex held.
  MemberMessage MakePing();
  absl::Status Take(const RendezvousMessage& message);
  absl::Status TakePong(const proto::Pong& pong);
  void Over(const absl::Status& why);  // the first wins
  absl::Status Explain(const absl::Status& end) const;
  absl::Status Lost(absl::string_view how) const;
  bool IsOver() const { return !abort_.ok() || left_; }
  absl::Status OverStatus() const;

  const Options options_;
  const Clock& clock_;
  const std::function<void(const absl::Status&)> on_abort_;
  const int64_t loss_ns_;
  const int64_t heartbeat_ns_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Roster> roster_;
  bool joined_ = false;  // Join returns success, so on_abort may be called
  bool stopping_ = false;
  bool leaving_ = false;
  bool left_ = false;
  bool ended_ = false;  // the stream
  bool workers_left_ = false;
  absl::Status abort_;                  // OK while the run goes on
  std::optional<std::string> barrier_;  // at which this process waits
  proto::MemberStatus member_status_;
  bool ping_now_ = true;
  int quick_pings_left_ = kQuickPings;  // whose pongs have not come
  int64_t last_ping_ns_ = 0;
  // When the first ping was sent since the rendezvous was last heard.
  std::optional<int64_t> unanswered_since_ns_;
  ClockOffsetEstimator offsets_;

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<JoinStream> stream_;
  std::thread heartbeat_;
};

RendezvousClient::Impl::Impl(const Options& options, const Clock& clock,
                             std::function<void(const absl::Status&)> on_abort)
    : options_(options),
      clock_(clock),
      on_abort_(std::move(on_abort)),
      loss_ns_(ToNs(options.loss_s)),
      heartbeat_ns_(ToNs(std::min(options.heartbeat_s, options.loss_s / 4))) {
  member_status_.set_step(-1);
  member_status_.set_phase("join");
}

RendezvousClient::Impl::~Impl() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (heartbeat_.joinable()) heartbeat_.join();
  stream_.reset();  // no handler runs any more after this
}

absl::Status RendezvousClient::Impl::Join() {
  const std::string& address = options_.address;
  channel_ = MakeChannel(address, options_.identity.tls_pem);
  if (!channel_->WaitForConnected(TimeoutFromNow(options_.join_s))) {
    return absl::UnavailableError(
        absl::StrFormat("nobody answers at %s, the address of the rendezvous, within %g s: is it "
                        "running there%s, and can this host reach it?",
                        address, options_.join_s,
                        options_.identity.tls_pem.empty() ? ", without TLS as this process is"
                                                          : ", with the same TLS file"));
  }
  stream_ = std::make_unique<JoinStream>(
      channel_, options_.identity,
      JoinStream::Handlers{[this](const RendezvousMessage& message) { OnMessage(message); },
                           [this](const absl::Status& status) { OnEnd(status); }});
  stream_->Start();
  MemberMessage hello;
  hello.mutable_hello()->set_role(ToProto(options_.identity.role));
  hello.mutable_hello()->set_rank(options_.identity.rank);
  hello.mutable_hello()->set_data_address(options_.data_address);
  hello.mutable_hello()->set_unix_socket(options_.unix_socket);
  hello.mutable_hello()->set_pid(getpid());
  stream_->Send(std::move(hello));
  heartbeat_ = std::thread([this] { HeartbeatLoop(); });

  // The rendezvous judges who is missing, and says so; it may have started later. Its
  // silence is noticed by the heartbeat thread.
  const int64_t deadline_ns = clock_.NowNs() + ToNs(options_.join_s) + loss_ns_;
  std::unique_lock lock(mutex_);
  const auto complete = [this] { return roster_.has_value() && quick_pings_left_ == 0; };
  while (!complete() && abort_.ok() && clock_.NowNs() < deadline_ns) {
    changed_.wait_for(lock, Until(deadline_ns, clock_.NowNs()));
  }
  if (!abort_.ok()) return abort_;
  if (!complete()) {
    return absl::DeadlineExceededError(
        absl::StrFormat("not everyone has joined at the rendezvous at %s within %g s", address,
                        options_.join_s + options_.loss_s));
  }
  joined_ = true;
  changed_.notify_all();
  return absl::OkStatus();
}

void RendezvousClient::Impl::OnMessage(const RendezvousMessage& message) {
  std::unique_lock lock(mutex_);
  unanswered_since_ns_.reset();
  const absl::Status taken = Take(message);
  if (!taken.ok()) Over(Lost(taken.message()));
  changed_.notify_all();
  lock.unlock();
  if (!taken.ok()) stream_->Cancel();
}

absl::Status RendezvousClient::Impl::Take(const RendezvousMessage& message) {
  switch (message.kind_case()) {
    case RendezvousMessage::kRoster: {
      if (roster_) return absl::InvalidArgumentError("it sent a second roster");
      ASSIGN_OR_RETURN(roster_, ReadRoster(message.roster()));
      return absl::OkStatus();
    }
    case RendezvousMessage::kPong:
      return TakePong(message.pong());
    case RendezvousMessage::kRelease:
      if (barrier_ != message.release().name()) {
        return absl::InvalidArgumentError("it released a barrier at which nobody waits");
      }
      barrier_.reset();
      return absl::OkStatus();
    case RendezvousMessage::kAbort:
      Over(AbortStatus(message.abort()));
      return absl::OkStatus();
    case RendezvousMessage::kWorkersLeft:
      workers_left_ = true;
      return absl::OkStatus();
    case RendezvousMessage::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("it sent a message of no known kind");
}

absl::Status RendezvousClient::Impl::TakePong(const proto::Pong& pong) {
  if (pong.member_time_ns() < 0 || pong.member_time_ns() > last_ping_ns_) {
    return absl::InvalidArgumentError("its pong answers no ping");
  }
  if (pong.rendezvous_time_ns() < 0 ||
      pong.rendezvous_time_ns() > ClockOffsetEstimator::kTimeNsMax) {
    return absl::InvalidArgumentError("its pong's time is none that a clock shows");
  }
  offsets_.Add(pong.member_time_ns(), clock_.NowNs(), pong.rendezvous_time_ns());
  if (quick_pings_left_ > 0) {
    --quick_pings_left_;
    ping_now_ = quick_pings_left_ > 0;
  }
  return absl::OkStatus();
}

void RendezvousClient::Impl::OnEnd(const absl::Status& status) {
  std::lock_guard lock(mutex_);
  ended_ = true;
  if (leaving_ && status.ok()) {
    left_ = true;
  } else {
    Over(Explain(status));
  }
  changed_.notify_all();
}

absl::Status RendezvousClient::Impl::Lost(absl::string_view how) const {
  if (roster_ && roster_->hosted_by_worker_0) {
    return absl::UnavailableError(
        DescribeHostLoss(options_.address, member_status_.step(), std::string(how)));
  }
  return absl::UnavailableError(
      absl::StrCat("the rendezvous at ", options_.address, " was lost: ", how));
}

// How the rendezvous ended the stream, or how it broke.
absl::Status RendezvousClient::Impl::Explain(const absl::Status& end) const {
  switch (end.code()) {
    case absl::StatusCode::kAborted:
      return end;
    case absl::StatusCode::kOk:
      return Lost("it ended the stream without a reason");
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnimplemented:
      return Annotate(end, absl::StrCat("refused by the rendezvous at ", options_.address, ": "));
    default:
      return Lost(
          OneLine(std::string_view(end.message().data(), end.message().size()), kMaxReasonBytes));
  }
}

void RendezvousClient::Impl::Over(const absl::Status& why) {
  if (!IsOver()) abort_ = why;
}

MemberMessage RendezvousClient::Impl::MakePing() {
  last_ping_ns_ = clock_.NowNs();
  if (!unanswered_since_ns_) unanswered_since_ns_ = last_ping_ns_;
  ping_now_ = false;
  MemberMessage message;
  message.mutable_ping()->set_member_time_ns(last_ping_ns_);
  *message.mutable_ping()->mutable_status() = member_status_;
  return message;
}

void RendezvousClient::Impl::HeartbeatLoop() {
  std::unique_lock lock(mutex_);
  while (!stopping_ && !IsOver()) {
    const int64_t now_ns = clock_.NowNs();
    if (unanswered_since_ns_ && now_ns - *unanswered_since_ns_ >= loss_ns_) {
      Over(Lost(absl::StrFormat("no answer for %g s", options_.loss_s)));
      changed_.notify_all();
      lock.unlock();
      stream_->Cancel();
      lock.lock();
      break;
    }
    if (ping_now_ || now_ns - last_ping_ns_ >= heartbeat_ns_) {
      MemberMessage ping = MakePing();
      lock.unlock();
      stream_->Send(std::move(ping));
      lock.lock();
      continue;
    }
    int64_t wake_ns = last_ping_ns_ + heartbeat_ns_;
    if (unanswered_since_ns_) wake_ns = std::min(wake_ns, *unanswered_since_ns_ + loss_ns_);
    changed_.wait_for(lock, Until(wake_ns, now_ns));
  }
  // Join returns the error itself if the run was over by then.
  if (stopping_ || left_ || !joined_ || !on_abort_) return;
  const absl::Status why = abort_;
  lock.unlock();
  on_abort_(why);
}

void RendezvousClient::Impl::SetStatus(int64_t step, const std::string& phase, int64_t samples,
                                       double loss) {
  std::lock_guard lock(mutex_);
  if (member_status_.phase() != phase) {
    member_status_.set_phase(phase);
    ping_now_ = true;
    changed_.notify_all();
  }
  member_status_.set_step(step);
  member_status_.set_samples(samples);
  member_status_.set_loss(loss);
}

absl::Status RendezvousClient::Impl::OverStatus() const {
  if (!abort_.ok()) return abort_;
  return absl::FailedPreconditionError(absl::StrCat(
      ProcessName(options_.identity.role, options_.identity.rank), " has left the run"));
}

absl::Status RendezvousClient::Impl::Barrier(const std::string& name, double timeout_s) {
  std::unique_lock lock(mutex_);
  if (IsOver() || leaving_) return OverStatus();
  if (options_.identity.role != Role::kWorker) {
    return absl::FailedPreconditionError("barriers are for workers only");
  }
  if (name.empty() || name.size() > kMaxBarrierNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a barrier's name has 1 to ", kMaxBarrierNameBytes, " bytes, not ", name.size()));
  }
  if (barrier_) {
    return absl::FailedPreconditionError(
        absl::StrCat("barrier '", name, "': this process waits at '", *barrier_, "'"));
  }
  barrier_ = name;
  lock.unlock();
  MemberMessage message;
  message.mutable_barrier()->set_name(name);
  stream_->Send(std::move(message));  // if it cannot, the stream is about to end
  lock.lock();
  if (!changed_.wait_for(lock, std::chrono::nanoseconds(ToNs(timeout_s)),
                         [this] { return IsOver() || !barrier_; })) {
    return absl::DeadlineExceededError(
        absl::StrFormat("barrier '%s': not every worker came within %g s of %s", name, timeout_s,
                        ProcessName(options_.identity.role, options_.identity.rank)));
  }
  return barrier_ ? OverStatus() : absl::OkStatus();
}

void RendezvousClient::Impl::ReportFailure(const absl::Status& why) {
  std::unique_lock lock(mutex_);
  if (IsOver() || ended_) return;
  MemberMessage message;
  proto::Failure& failure = *message.mutable_failure();
  failure.set_role(ToProto(options_.identity.role));
  failure.set_rank(options_.identity.rank);
  failure.set_address(options_.data_address);
  failure.set_step(member_status_.step());
  failure.set_phase(member_status_.phase());
  failure.set_reason(
      OneLine(std::string_view(why.message().data(), why.message().size()), kMaxReasonBytes));
  lock.unlock();
  stream_->Send(std::move(message));
  lock.lock();
  changed_.wait_for(lock, std::chrono::duration<double>(kReportS),
                    [this] { return IsOver() || ended_; });
}

absl::Status RendezvousClient::Impl::WaitForWorkersToLeave() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return IsOver() || workers_left_; });
  return workers_left_ ? absl::OkStatus() : OverStatus();
}

absl::Status RendezvousClient::Impl::Leave() {
  std::unique_lock lock(mutex_);
  if (IsOver() || leaving_) return OverStatus();
  leaving_ = true;
  lock.unlock();
  MemberMessage message;
  message.mutable_leave();
  stream_->Send(std::move(message));
  lock.lock();
  changed_.wait_for(lock, std::chrono::nanoseconds(loss_ns_), [this] { return IsOver(); });
  if (left_) return absl::OkStatus();
  if (!abort_.ok()) return abort_;
  return absl::DeadlineExceededError(
      absl::StrFormat("the rendezvous at %s did not answer the leave within %g s", options_.address,
                      options_.loss_s));
}

absl::Status RendezvousClient::Impl::status() const {
  std::lock_guard lock(mutex_);
  return abort_;
}

ClockOffset RendezvousClient::Impl::clock_offset() const {
  std::lock_guard lock(mutex_);
  return offsets_.Best();
}

RendezvousClient::RendezvousClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RendezvousClient::~RendezvousClient() = default;

absl::StatusOr<std::unique_ptr<RendezvousClient>> RendezvousClient::Join(
    const Options& options, const Clock& clock, std::function<void(const absl::Status&)> on_abort) {
  if (options.join_s <= 0 || options.loss_s <= 0 || options.heartbeat_s <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("rendezvous: join_s, loss_s and heartbeat_s must be positive, not ",
                     options.join_s, ", ", options.loss_s, " and ", options.heartbeat_s));
  }
  auto impl = std::make_unique<Impl>(options, clock, std::move(on_abort));
  RETURN_IF_ERROR(impl->Join());
  return std::unique_ptr<RendezvousClient>(new RendezvousClient(std::move(impl)));
}

const Roster& RendezvousClient::roster() const { return impl_->roster(); }
void RendezvousClient::SetStatus(int64_t step, const std::string& phase, int64_t samples,
                                 double loss) {
  impl_->SetStatus(step, phase, samples, loss);
}
absl::Status RendezvousClient::Barrier(const std::string& name, double timeout_s) {
  return impl_->Barrier(name, timeout_s);
}
void RendezvousClient::ReportFailure(const absl::Status& why) { impl_->ReportFailure(why); }
absl::Status RendezvousClient::WaitForWorkersToLeave() { return impl_->WaitForWorkersToLeave(); }
absl::Status RendezvousClient::Leave() { return impl_->Leave(); }
absl::Status RendezvousClient::status() const { return impl_->status(); }
ClockOffset RendezvousClient::clock_offset() const { return impl_->clock_offset(); }

}  // namespace crossover::net
