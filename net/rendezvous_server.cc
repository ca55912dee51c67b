#include "net/rendezvous_server.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/status.h"
#include "net/grpc_setup.h"
#include "net/refused_call.h"
#include "net/run_inspection.h"
#include "net/thread_handover.h"
#include "proto/rendezvous.grpc.pb.h"

namespace crossover::net {
namespace {

using proto::MemberMessage;
using proto::RendezvousMessage;
using Reactor = grpc::ServerBidiReactor<MemberMessage, RendezvousMessage>;

// A member has at most a pong, a roster, a release, workers_left and an abort to
// come; more than this means that it does not read.
constexpr size_t kMaxQueuedMessages = 16;
// Streams besides one for each member: strangers, and members that come again.
constexpr size_t kSpareStreams = 64;
// An ended stream whose other side takes nothing any more is cancelled after this.
constexpr int64_t kEndBoundNs = 1'000'000'000;
constexpr double kShutdownS = 1;
constexpr double kMaxWaitS = 1e8;

std::chrono::duration<double> Seconds(double seconds) {
  return std::chrono::duration<double>(std::clamp(seconds, 0.0, kMaxWaitS));
}

}  // namespace

// One mutex guards the membership and all streams' queues. gRPC is never called
// under it: what has to be started is decided and marked under the mutex (an
// operation of each kind at a time for each stream) and started after it.
//
// A stream lives from Join to OnDone. gRPC calls OnDone only after Finish was called and
// every started operation's reaction has returned; Finish is marked only when no write
// is marked, reads are started from reactions only, so whatever was marked finds
// the stream alive.
class RendezvousServer::Impl final : public proto::Rendezvous::CallbackService {
 public:
  Impl(const Options& options, const Clock& clock);
  ~Impl() override;
  absl::Status Listen();

  Reactor* Join(grpc::CallbackServerContext* context) override;

  std::string address() const { return running_.address; }
  std::vector<MemberState> members() const;
  proto::MembersStatus Inspect() const;
  void Abort(const proto::Failure& failure);
  absl::Status status() const;
  bool WaitForEnd(double seconds);

 private:
  class Stream;
  struct Start {  // an operation that was marked
    Stream* stream;
    bool finish;  // else a write
  };

  void OnBound(Stream& stream);
  void OnReadDone(Stream& stream, bool ok);
  void OnWriteDone(Stream& stream, bool ok);
  void OnDone(Stream& stream);

  // With the mutex held: puts what the membership wants sent into the queues, and
  // marks what can be started.
  [[nodiscard]] std::vector<Start> Deliver();
  void Mark(Stream& stream, std::vector<Start>& starts);
  // Without the mutex.
  void Run(const std::vector<Start>& starts);

  void WatchLoop();
  void CancelOverdue();
  bool EndedAndQuiet() const { return membership_.ended() && streams_.empty(); }

  const Options options_;
  const Clock& clock_;
  RunInspection inspection_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Membership membership_;
  std::map<Membership::StreamId, Stream*> streams_;
  Membership::StreamId next_stream_ = 1;
  bool stopping_ = false;

  // Held while contexts are cancelled, so that no stream ends (and takes its context
  // along) meanwhile. Taken before mutex_.
  std::mutex cancel_mutex_;
  std::thread watch_;
  RunningServer running_;
};

// One member's end of a Join call. Its fields, `incoming` and `outgoing` apart
// (gRPC's while a read or write runs), are guarded by the server's mutex.
class RendezvousServer::Impl::Stream final : public Reactor {
 public:
  Stream(Impl& impl, Membership::StreamId id, const Identity& caller,
         grpc::CallbackServerContext* context)
      : id(id), caller(caller), context(context), impl_(impl) {}
  void OnSendInitialMetadataDone(bool /*ok*/) override {
    TakeOver(this);
    impl_.OnBound(*this);
  }
  void OnReadDone(bool ok) override {
    TakeOver(this);
    impl_.OnReadDone(*this, ok);
  }
  void OnWriteDone(bool ok) override {
    TakeOver(this);
    impl_.OnWriteDone(*this, ok);
  }
  void OnDone() override {
    TakeOver(this);
    impl_.OnDone(*this);
  }

  const Membership::StreamId id;
  const Identity caller;
  grpc::CallbackServerContext* const context;
  int64_t heard_ns = 0;
  MemberMessage incoming;
  RendezvousMessage outgoing;
  std::deque<RendezvousMessage> queue;
  // gRPC has bound it to its call. Until then only Join starts operations, so that
  // none comes from two threads while gRPC sets them aside.
  bool bound = false;
  bool writing = false;
  std::optional<absl::Status> end;  // wanted, once the queue is empty
  int64_t end_wanted_ns = 0;
  bool finished = false;  // Finish is marked
  bool cancelled = false;

 private:
  Impl& impl_;
};

RendezvousServer::Impl::Impl(const Options& options, const Clock& clock)
    : options_(options),
      clock_(clock),
      inspection_(options.identity, [this] { return Inspect(); }),
      membership_({options.workers, options.servers, options.join_s, options.loss_s,
                   options.hosted_by_worker_0},
                  clock.NowNs()) {}

absl::Status RendezvousServer::Impl::Listen() {
  HandOver(this);
  absl::StatusOr<RunningServer> running = StartServer({options_.address, options_.identity.tls_pem},
                                                      [this](grpc::ServerBuilder& builder) {
                                                        builder.RegisterService(this);
                                                        builder.RegisterService(&inspection_);
                                                      });
  RETURN_IF_ERROR(Annotate(running.status(), "rendezvous: "));
  running_ = *std::move(running);
  watch_ = std::thread([this] { WatchLoop(); });
  return absl::OkStatus();
}

RendezvousServer::Impl::~Impl() {
  proto::Failure failure;
  failure.set_reason(absl::StrCat("the rendezvous at ", running_.address,
                                  " was shut down before everyone had left"));
  std::vector<Start> starts;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    membership_.Abort(failure);
    starts = Deliver();
    changed_.notify_all();
  }
  Run(starts);
  if (watch_.joinable()) watch_.join();
  if (running_.server == nullptr) return;
  // Cancels what has not ended by then, and waits for every OnDone.
  running_.server->Shutdown(TimeoutFromNow(kShutdownS));
  running_.server->Wait();
  std::lock_guard lock(mutex_);
  CROSSOVER_CHECK(streams_.empty(), "gRPC has ended every call");
}

Reactor* RendezvousServer::Impl::Join(grpc::CallbackServerContext* context) {
  TakeOver(this);
  const absl::StatusOr<Identity> caller = CallerIdentity(options_.identity, *context);
  if (!caller.ok()) {
    if (const std::optional<ClaimedProcess> claimed = ClaimedBy(*context)) {
      std::lock_guard lock(mutex_);
      membership_.OnRefused(claimed->role, claimed->rank, caller.status());
    }
    return new RefusedCall<Reactor>(caller.status());
  }
  const std::string peer = PeerAddress(*context);

  std::vector<Start> starts;
  std::unique_lock lock(mutex_);
  const size_t most = kSpareStreams + static_cast<size_t>(options_.workers + options_.servers);
  if (stopping_ || streams_.size() >= most) {
    lock.unlock();
    return new RefusedCall<Reactor>(absl::ResourceExhaustedError(
        absl::StrCat("the rendezvous at ", options_.address, " takes no more calls")));
  }
  Stream* const stream = new Stream(*this, next_stream_++, *caller, context);
  HandOver(stream);
  stream->heard_ns = clock_.NowNs();
  streams_.emplace(stream->id, stream);
  membership_.OnOpen(stream->id, *caller, peer, clock_.NowNs());
  starts = Deliver();
  changed_.notify_all();  // the next deadline may be nearer
  lock.unlock();
  Run(starts);  // of other streams
  // gRPC sets these aside until it has bound what is returned here.
  stream->StartSendInitialMetadata();
  stream->StartRead(&stream->incoming);
  return stream;
}

void RendezvousServer::Impl::OnBound(Stream& stream) {
  std::vector<Start> starts;
  {
    std::lock_guard lock(mutex_);
    stream.bound = true;
    Mark(stream, starts);
  }
  Run(starts);
}

void RendezvousServer::Impl::OnReadDone(Stream& stream, bool ok) {
  std::unique_lock lock(mutex_);
  if (stream.end) return;  // nobody is interested any more
  if (ok) {
    stream.heard_ns = clock_.NowNs();
    membership_.OnMessage(stream.id, stream.incoming, stream.heard_ns);
  } else {
    membership_.OnBroken(stream.id, "connection closed");
  }
  const std::vector<Start> starts = Deliver();
  const bool read_on = ok && !stream.end;
  // A failure is decided upon soon; whatever else came only moved deadlines back.
  if (stream.incoming.has_failure()) changed_.notify_all();
  lock.unlock();
  // Even if another thread ends the stream now, it lives until this reaction returns.
  if (read_on) stream.StartRead(&stream.incoming);
  Run(starts);
}

void RendezvousServer::Impl::OnWriteDone(Stream& stream, bool ok) {
  std::vector<Start> starts;
  {
    std::lock_guard lock(mutex_);
    stream.writing = false;
    if (!ok) stream.queue.clear();  // the read under way will say that it broke
    Mark(stream, starts);
  }
  Run(starts);
}

void RendezvousServer::Impl::OnDone(Stream& stream) {
  {
    std::lock_guard cancel_lock(cancel_mutex_);
    std::lock_guard lock(mutex_);
    streams_.erase(stream.id);
    changed_.notify_all();
  }
  delete &stream;
}

std::vector<RendezvousServer::Impl::Start> RendezvousServer::Impl::Deliver() {
  std::vector<Start> starts;
  std::vector<Membership::Outgoing> batch;
  while (!(batch = membership_.TakeOutgoing()).empty()) {
    for (Membership::Outgoing& outgoing : batch) {
      Stream& stream = *streams_.at(outgoing.stream);
      if (absl::Status* status = std::get_if<absl::Status>(&outgoing.what)) {
        CROSSOVER_CHECK(!stream.end, "a stream ends once");
        stream.end = *status;
        stream.end_wanted_ns = clock_.NowNs();
        changed_.notify_all();
      } else {
        RendezvousMessage& message = std::get<RendezvousMessage>(outgoing.what);
        // A newer pong replaces one that waits, so pings cannot fill the queue.
        const auto waiting_pong =
            std::find_if(stream.queue.begin(), stream.queue.end(),
                         [](const RendezvousMessage& queued) { return queued.has_pong(); });
        if (message.has_pong() && waiting_pong != stream.queue.end()) {
          *waiting_pong = std::move(message);
        } else if (stream.queue.size() < kMaxQueuedMessages) {
          stream.queue.push_back(std::move(message));
        } else {
          stream.queue.clear();
          membership_.OnBroken(stream.id, "it does not read what it is sent");
        }
      }
      Mark(stream, starts);
    }
  }
  return starts;
}

void RendezvousServer::Impl::Mark(Stream& stream, std::vector<Start>& starts) {
  if (!stream.bound || stream.writing || stream.finished) return;
  if (!stream.queue.empty()) {
    stream.outgoing = std::move(stream.queue.front());
    stream.queue.pop_front();
    stream.writing = true;
    starts.push_back({&stream, false});
  } else if (stream.end) {
    stream.finished = true;
    starts.push_back({&stream, true});
  }
}

void RendezvousServer::Impl::Run(const std::vector<Start>& starts) {
  for (const Start& start : starts) {
    if (start.finish) {
      start.stream->Finish(ToGrpc(*start.stream->end));  // no longer changed once set
    } else {
      start.stream->StartWrite(&start.stream->outgoing);
    }
  }
}

void RendezvousServer::Impl::WatchLoop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    membership_.OnTime(clock_.NowNs());
    const std::vector<Start> starts = Deliver();
    if (EndedAndQuiet()) changed_.notify_all();  // a run that nobody came to
    lock.unlock();
    Run(starts);
    CancelOverdue();
    lock.lock();
    if (stopping_) break;
    const int64_t now_ns = clock_.NowNs();
    int64_t wake_ns = membership_.NextDeadlineNs();
    for (const auto& [id, stream] : streams_) {
      if (stream->end && !stream->cancelled) {
        wake_ns = std::min(wake_ns, stream->end_wanted_ns + kEndBoundNs);
      }
    }
    if (wake_ns <= now_ns) continue;
    changed_.wait_for(lock, Seconds(static_cast<double>(wake_ns - now_ns) / 1e9));
  }
}

void RendezvousServer::Impl::CancelOverdue() {
  std::lock_guard cancel_lock(cancel_mutex_);
  std::vector<grpc::CallbackServerContext*> overdue;
  {
    std::lock_guard lock(mutex_);
    const int64_t now_ns = clock_.NowNs();
    for (const auto& [id, stream] : streams_) {
      if (!stream->end || stream->cancelled) continue;
      if (now_ns - stream->end_wanted_ns < kEndBoundNs) continue;
      stream->cancelled = true;
      overdue.push_back(stream->context);
    }
  }
  for (grpc::CallbackServerContext* context : overdue) context->TryCancel();
}

std::vector<MemberState> RendezvousServer::Impl::members() const {
  std::lock_guard lock(mutex_);
  return membership_.members();
}

proto::MembersStatus RendezvousServer::Impl::Inspect() const {
  std::lock_guard lock(mutex_);
  const int64_t now_ns = clock_.NowNs();
  proto::MembersStatus status;
  for (const MemberState& state : membership_.members()) {
    proto::MembersStatus::Member& member = *status.add_members();
    member.set_role(ToProto(state.role));
    member.set_rank(state.rank);
    member.set_phase(state.phase);
    for (const auto& [id, stream] : streams_) {
      const bool its_own = stream->caller.role == state.role && stream->caller.rank == state.rank;
      if (!its_own || stream->end) continue;
      member.set_heartbeat_s(static_cast<double>(now_ns - stream->heard_ns) * 1e-9);
    }
  }
  return status;
}

void RendezvousServer::Impl::Abort(const proto::Failure& failure) {
  std::vector<Start> starts;
  {
    std::lock_guard lock(mutex_);
    membership_.Abort(failure);
    starts = Deliver();
    changed_.notify_all();
  }
  Run(starts);
}

absl::Status RendezvousServer::Impl::status() const {
  std::lock_guard lock(mutex_);
  return membership_.status();
}

bool RendezvousServer::Impl::WaitForEnd(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, Seconds(seconds), [this] { return EndedAndQuiet(); });
}

RendezvousServer::RendezvousServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RendezvousServer::~RendezvousServer() = default;

absl::StatusOr<std::unique_ptr<RendezvousServer>> RendezvousServer::Start(const Options& options,
                                                                          const Clock& clock) {
  if (options.workers < 1 || options.servers < 0 || options.join_s <= 0 || options.loss_s <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rendezvous: workers >= 1, servers >= 0, join_s > 0 and loss_s > 0 are needed, not ",
        options.workers, ", ", options.servers, ", ", options.join_s, " and ", options.loss_s));
  }
  auto impl = std::make_unique<Impl>(options, clock);
  RETURN_IF_ERROR(impl->Listen());
  return std::unique_ptr<RendezvousServer>(new RendezvousServer(std::move(impl)));
}

std::string RendezvousServer::address() const { return impl_->address(); }
std::vector<MemberState> RendezvousServer::members() const { return impl_->members(); }
absl::Status RendezvousServer::status() const { return impl_->status(); }
bool RendezvousServer::WaitForEnd(double seconds) { return impl_->WaitForEnd(seconds); }

void RendezvousServer::Abort(Role role, int rank, const std::string& address,
                             const std::string& reason) {
  proto::Failure failure;
  failure.set_role(ToProto(role));
  failure.set_rank(rank);
  failure.set_address(address);
  failure.set_step(-1);
  for (const MemberState& member : impl_->members()) {
    if (member.role != role || member.rank != rank) continue;
    failure.set_step(member.step);
    failure.set_phase(member.phase);
  }
  failure.set_reason(reason);
  impl_->Abort(failure);
}

void RendezvousServer::Abort(const std::string& reason) {
  proto::Failure failure;
  failure.set_reason(reason);
  impl_->Abort(failure);
}

}  // namespace crossover::net
