#include "ps/server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/job.h"
#include "core/status.h"
#include "net/grpc_setup.h"
#include "net/refused_call.h"
#include "net/thread_handover.h"
#include "ps/frame_buffer.h"
#include "ps/served_shards.h"
#include "ps/status_service.h"
#include "ps/stream_to_worker.h"
#include "ps/wire.h"

namespace crossover::ps {

using Refused = net::RefusedCall<grpc::ServerGenericBidiReactor>;

class Server::Impl final : public grpc::CallbackGenericService, public StreamHandler {
 public:
  Impl(const Options& options, const Clock& clock)
      : options_(options),
        clock_(clock),
        start_ns_(clock.NowNs()),
        status_service_(options.identity, [this] { return status(); }),
        members_(options.job.workers()) {}
  ~Impl() override { Stop(); }

  absl::Status Start();
  const std::string& address() const { return running_.address; }
  void Stop();
  proto::ServerReport report() const;
  proto::ServerStatus status() const;

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;
  absl::Status OnMessage(int worker, const grpc::ByteBuffer& message) override;
  void OnClosed(int worker) override;
  void OnDone(int worker) override;

 private:
  struct Member {
    std::shared_ptr<StreamToWorker> stream;  // while it lasts
    std::string peer;
    bool connected = false;  // has been once
    bool planned = false;
    bool left = false;
    bool lost = false;
    int64_t step = -1;  // of its last push
    int64_t heard_ns = 0;

    proto::WorkerStatus status(int64_t now_ns) const;
  };

  absl::StatusOr<int> CheckCall(const grpc::GenericCallbackServerContext& context) const;
  absl::Status Handle(int worker, const FrameHeader& header, const Payload& payload);
  absl::Status HandlePlan(int worker, const Payload& payload);
  absl::Status HandleLeave(int worker, ServedShards& shards);
  absl::StatusOr<ServedShards*> ShardsFor(int worker, const WorkerPlan& plan);
  absl::Status CheckEqualPlans(int worker, const WorkerPlan& plan) const;
  absl::Status Deliver(absl::StatusOr<std::vector<Reply>> replies, const ServedShards& shards);
  void Send(int worker, const grpc::ByteBuffer& message, const ServedShards& shards);
  std::shared_ptr<StreamToWorker> StreamOf(int worker) const;
  absl::Status Named(int worker, const absl::Status& why) const;
  void NoteStep(int worker, int64_t step);
  void ReportLost(int worker, const absl::Status& why);

  const Options options_;
  const Clock& clock_;
  const int64_t start_ns_;
  StatusService status_service_;
  net::RunningServer running_;

  // Held by plan frames alone, while the parts are allocated. Taken before mutex_.
  std::mutex plan_mutex_;
  mutable std::mutex mutex_;  // of what follows; never held while a part is worked on
  std::condition_variable stream_ended_;
  std::vector<Member> members_;           // by rank
  std::unique_ptr<ServedShards> shards_;  // from the first plan on; then constant
  int first_planned_ = -1;                // whose plan it was
  int64_t step_ = -1;                     // the largest of all pushes
  int live_streams_ = 0;
  bool stopping_ = false;
};

absl::Status Server::Impl::Start() {
  net::HandOver(this);
  ASSIGN_OR_RETURN(net::RunningServer running,
                   net::StartServer(options_.address, [this](grpc::ServerBuilder& builder) {
                     builder.RegisterCallbackGenericService(this);
                     builder.RegisterService(&status_service_);
                   }));
  const std::lock_guard lock(mutex_);
  running_ = std::move(running);
  return absl::OkStatus();
}

void Server::Impl::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  if (running_.server == nullptr) return;
  running_.server->Shutdown(gpr_inf_past(GPR_CLOCK_MONOTONIC));
  std::unique_lock lock(mutex_);
  stream_ended_.wait(lock, [this] { return live_streams_ == 0; });
}

proto::ServerReport Server::Impl::report() const {
  const ServedShards* shards = nullptr;
  {
    const std::lock_guard lock(mutex_);
    shards = shards_.get();
  }
  proto::ServerReport report;
  if (shards != nullptr) shards->AddTo(report);
  return report;
}

proto::WorkerStatus Server::Impl::Member::status(int64_t now_ns) const {
  proto::WorkerStatus status;
  status.set_state(lost        ? proto::WorkerStatus::LOST
                   : left      ? proto::WorkerStatus::LEFT
                   : connected ? proto::WorkerStatus::CONNECTED
                               : proto::WorkerStatus::AWAITED);
  status.set_address(peer);
  status.set_step(step);
  status.set_silent_s(connected ? static_cast<double>(now_ns - heard_ns) * 1e-9 : -1);
  if (stream == nullptr) return status;
  const StreamToWorker::Queued queued = stream->queued();
  status.set_queued_messages(queued.messages);
  status.set_queued_bytes(queued.bytes);
  return status;
}

proto::ServerStatus Server::Impl::status() const {
  proto::ServerStatus status;
  status.set_job(options_.job.name());
  status.set_job_fingerprint(options_.identity.job_fingerprint);
  status.set_strategy(StrategyName(options_.job.strategy()));
  status.set_rank(options_.identity.rank);
  status.set_servers(options_.job.servers());
  status.set_credits(options_.job.ps().credits());
  const int64_t now_ns = clock_.NowNs();
  status.set_uptime_s(static_cast<double>(now_ns - start_ns_) * 1e-9);
  const ServedShards* shards = nullptr;
  {
    const std::lock_guard lock(mutex_);
    status.set_address(running_.address);
    status.set_step(step_);
    for (const Member& member : members_) *status.add_workers() = member.status(now_ns);
    shards = shards_.get();
  }
  if (shards != nullptr) {
    shards->AddTo(*status.mutable_totals());
    status.mutable_totals()->clear_spans();
    shards->AddTo(status);
  }
  if (options_.add_to_status) options_.add_to_status(status);
  return status;
}

// The rank of a caller that may take part.
absl::StatusOr<int> Server::Impl::CheckCall(
    const grpc::GenericCallbackServerContext& context) const {
  if (context.method() != kExchangeMethod) {
    return absl::UnimplementedError(
        absl::StrCat("no method ", context.method(), "; there is ", kExchangeMethod));
  }
  ASSIGN_OR_RETURN(const net::Identity caller, net::CallerIdentity(options_.identity, context));
  if (caller.role != net::Role::kWorker) {
    return absl::PermissionDeniedError(
        absl::StrCat(net::ProcessName(caller.role, caller.rank), " called; only workers may"));
  }
  if (caller.rank < 0 || caller.rank >= options_.job.workers()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker ", caller.rank, " called; this job's are 0 to ", options_.job.workers() - 1));
  }
  return caller.rank;
}

grpc::ServerGenericBidiReactor* Server::Impl::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  net::TakeOver(this);
  const absl::StatusOr<int> rank = CheckCall(*context);
  if (!rank.ok()) return new Refused(rank.status());
  const int64_t now_ns = clock_.NowNs();
  const std::lock_guard lock(mutex_);
  Member& member = members_[*rank];
  if (stopping_) return new Refused(absl::UnavailableError("the server stops"));
  if (member.connected) {
    return new Refused(absl::AlreadyExistsError(
        absl::StrCat("worker ", *rank, " has been connected before, from ", member.peer)));
  }
  member.connected = true;
  member.heard_ns = now_ns;
  member.peer = net::PeerAddress(*context);
  ++live_streams_;
  member.stream = StreamToWorker::Start(*rank, *this);
  return member.stream.get();
}

absl::Status Server::Impl::OnMessage(int worker, const grpc::ByteBuffer& buffer) {
  const ReceivedMessage message(buffer);
  absl::StatusOr<FrameHeader> header = DecodeHeader(message.bytes());
  absl::Status status = header.status();
  if (status.ok()) {
    // How much memory is asked for is for the worker to say: too much ends its stream.
    try {
      status = Handle(worker, *header, message.bytes().Tail(FrameHeader::kBytes));
    } catch (const std::bad_alloc&) {
      status = absl::ResourceExhaustedError(absl::StrCat(
          "server ", options_.identity.rank, " has too little memory for the ",
          FrameKindName(header->kind), " frame of worker ", worker, ": use more servers"));
    }
  }
  if (!status.ok()) ReportLost(worker, Named(worker, status));
  return status;
}

absl::Status Server::Impl::Handle(int worker, const FrameHeader& header, const Payload& payload) {
  if (header.kind == FrameKind::kPlan) return HandlePlan(worker, payload);
  ServedShards* shards = nullptr;
  const int64_t now_ns = clock_.NowNs();
  {
    const std::lock_guard lock(mutex_);
    Member& member = members_[worker];
    member.heard_ns = now_ns;
    if (!member.planned || member.left) {
      return absl::FailedPreconditionError(absl::StrCat(
          FrameKindName(header.kind), " frame ", member.left ? "after leave" : "before the plan"));
    }
    shards = shards_.get();
  }
  if (header.kind == FrameKind::kLeave) return HandleLeave(worker, *shards);
  RETURN_IF_ERROR(CheckPart(header, shards->plan(), options_.identity.rank));
  switch (header.kind) {
    case FrameKind::kInitialize:
      return Deliver(shards->Initialize(worker, header, payload), *shards);
    case FrameKind::kPull:
      return Deliver(shards->Pull(worker, header), *shards);
    case FrameKind::kPush:
      RETURN_IF_ERROR(Deliver(shards->Push(worker, header, payload), *shards));
      NoteStep(worker, header.step);
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("a worker sent a server's ", FrameKindName(header.kind), " frame"));
  }
}

absl::Status Server::Impl::HandlePlan(int worker, const Payload& payload) {
  ASSIGN_OR_RETURN(const WorkerPlan plan, DecodePlan(payload));
  ASSIGN_OR_RETURN(ServedShards* const shards, ShardsFor(worker, plan));
  {
    const std::lock_guard lock(mutex_);
    if (members_[worker].planned) {
      return absl::FailedPreconditionError("a second plan on one stream");
    }
    RETURN_IF_ERROR(CheckEqualPlans(worker, plan));
    members_[worker].planned = true;
  }
  Send(worker, MakeMessage({.kind = FrameKind::kAck}), *shards);
  return absl::OkStatus();
}

// The parts of the first plan that came.
absl::StatusOr<ServedShards*> Server::Impl::ShardsFor(int worker, const WorkerPlan& plan) {
  const std::lock_guard plan_lock(plan_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (shards_ != nullptr) return shards_.get();
  }
  ASSIGN_OR_RETURN(ShardPlan shard_plan,
                   ShardPlanFor(plan, options_.job.servers(), options_.job.ps().part_bytes()));
  auto shards = std::make_unique<ServedShards>(options_.job, plan, std::move(shard_plan),
                                               options_.identity.rank, clock_);
  const std::lock_guard lock(mutex_);
  first_planned_ = worker;
  shards_ = std::move(shards);
  return shards_.get();
}

// The caller holds the lock.
absl::Status Server::Impl::CheckEqualPlans(int worker, const WorkerPlan& plan) const {
  const WorkerPlan& first = shards_->worker_plan();
  if (plan == first) return absl::OkStatus();
  const auto describe = [](const WorkerPlan& plan) {
    int64_t values = 0;
    for (const int64_t length : plan.bucket_lengths) values += length;
    return absl::StrCat(plan.total_steps, " steps of ", values, " values in ",
                        plan.bucket_lengths.size(), " buckets");
  };
  return absl::InvalidArgumentError(
      absl::StrCat("worker ", worker, " plans ", describe(plan), ", but worker ", first_planned_,
                   " ", describe(first), ": start all with the same job, data and build"));
}

absl::Status Server::Impl::HandleLeave(int worker, ServedShards& shards) {
  {
    const std::lock_guard lock(mutex_);
    members_[worker].left = true;
  }
  ServedShards::LeaveOutcome outcome = shards.Leave(worker);
  RETURN_IF_ERROR(Deliver(std::move(outcome.replies), shards));
  for (const int stranded : outcome.stranded) {
    const auto stream = StreamOf(stranded);
    if (stream != nullptr) stream->Fail(outcome.failure);
    ReportLost(stranded, Named(stranded, outcome.failure));
  }
  if (options_.on_worker_leaving) options_.on_worker_leaving(worker);
  Send(worker, MakeMessage({.kind = FrameKind::kAck}), shards);
  return absl::OkStatus();
}

absl::Status Server::Impl::Deliver(absl::StatusOr<std::vector<Reply>> replies,
                                   const ServedShards& shards) {
  if (!replies.ok()) return replies.status();
  for (const Reply& reply : *replies) Send(reply.worker, reply.message, shards);
  return absl::OkStatus();
}

// A worker whose stream has ended gets nothing.
void Server::Impl::Send(int worker, const grpc::ByteBuffer& message, const ServedShards& shards) {
  const auto stream = StreamOf(worker);
  if (stream == nullptr) return;
  const absl::Status status = stream->Send(message, shards.queued_max());
  if (!status.ok()) ReportLost(worker, status);
}

std::shared_ptr<StreamToWorker> Server::Impl::StreamOf(int worker) const {
  const std::lock_guard lock(mutex_);
  return members_[worker].stream;
}

// For the server's log; on its own stream a worker knows who it is.
absl::Status Server::Impl::Named(int worker, const absl::Status& why) const {
  const std::lock_guard lock(mutex_);
  return Annotate(why, absl::StrCat("worker ", worker, " at ", members_[worker].peer, ": "));
}

void Server::Impl::NoteStep(int worker, int64_t step) {
  {
    const std::lock_guard lock(mutex_);
    members_[worker].step = step;
    if (step <= step_) return;
    step_ = step;
  }
  if (options_.on_step) options_.on_step(step);
}

void Server::Impl::ReportLost(int worker, const absl::Status& why) {
  {
    const std::lock_guard lock(mutex_);
    Member& member = members_[worker];
    if (stopping_ || member.lost) return;
    member.lost = true;
  }
  if (options_.on_worker_lost) options_.on_worker_lost(worker, why);
}

void Server::Impl::OnClosed(int worker) {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    const Member& member = members_[worker];
    if (member.left) return;
    text = absl::StrCat("worker ", worker, " at ", member.peer, " ended its connection ",
                        member.step < 0 ? "before its first push"
                                        : absl::StrCat("after its push for step ", member.step));
  }
  ReportLost(worker, absl::UnavailableError(text));
}

void Server::Impl::OnDone(int worker) {
  const std::lock_guard lock(mutex_);
  members_[worker].stream.reset();
  --live_streams_;
  stream_ended_.notify_all();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Options& options, const Clock& clock) {
  CROSSOVER_CHECK(options.identity.rank >= 0 && options.identity.rank < options.job.servers(),
                  "the caller checks its own rank");
  auto impl = std::make_unique<Impl>(options, clock);
  RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;
const std::string& Server::address() const { return impl_->address(); }
void Server::Stop() { impl_->Stop(); }
proto::ServerReport Server::report() const { return impl_->report(); }
proto::ServerStatus Server::status() const { return impl_->status(); }

}  // namespace crossover::ps
