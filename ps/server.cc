#include "ps/server.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/check.h"
#include "core/job.h"
#include "core/status.h"
#include "net/grpc_setup.h"
#include "net/observer.h"
#include "os/usable_cores.h"
#include "ps/apply_lanes.h"
#include "ps/frame_buffer.h"
#include "ps/part_frame.h"
#include "ps/served_shards.h"
#include "ps/stream_service.h"
#include "ps/stream_to_worker.h"
#include "ps/wire.h"

namespace crossover::ps {
namespace {

// Of proto::ServerInspection. It is answered by the loop's thread: a generated service would have
// threads of gRPC's poll beside it, which cost every push a hand-over or two.
constexpr char kStatusMethod[] = "/crossover.proto.ServerInspection/Status";

}  // namespace

// Messages come on one thread, the loop's, which alone touches what has no lock; frames of parts go
// on to the part's lane.
class Server::Impl final : public StreamHandler {
 public:
  Impl(const Options& options, const Clock& clock)
      : options_(options),
        clock_(clock),
        start_ns_(clock.NowNs()),
        channels_(options.job.ps().channels()),
        members_(options.job.workers()) {
    for (Member& member : members_) member.channels = std::vector<Channel>(channels_);
  }
  ~Impl() override { Stop(); }

  absl::Status Start();
  const StreamService& service() const { return *service_; }
  proto::ServerStatus status() const;
  void Stop();
  proto::ServerReport report() const;

  absl::StatusOr<int> OnCall(const grpc::GenericServerContext& context,
                             const std::shared_ptr<StreamToWorker>& stream) override;
  void OnMessage(int stream, const grpc::ByteBuffer& message) override;
  void OnClosed(int stream) override;
  void OnDone(int stream) override;

 private:
  struct Channel {
    // Of the loop's thread.
    bool connected = false;  // has been once
    bool planned = false;

    mutable std::mutex mutex;                // of what follows
    std::shared_ptr<StreamToWorker> stream;  // while it lasts
  };
  struct Member {
    std::vector<Channel> channels;
    std::string peer;                     // constant once connected
    std::atomic<bool> connected = false;  // has been once, over some channel
    std::atomic<int64_t> heard_ns = 0;
    std::atomic<bool> left = false;
    std::atomic<bool> lost = false;
    std::atomic<int64_t> step = -1;  // of its last push

    proto::WorkerStatus status(int64_t now_ns) const;
  };

  absl::StatusOr<int> CheckCall(const grpc::GenericServerContext& context) const;
  void AnswerObserver(StreamToWorker& stream);
  void Guard(PartFrame& frame, const std::function<absl::Status()>& work);
  absl::Status Dispatch(const std::shared_ptr<PartFrame>& frame);
  absl::Status Handle(PartFrame& frame);
  absl::StatusOr<int> ChannelOf(const grpc::GenericServerContext& context) const;
  absl::Status HandlePlan(PartFrame& frame);
  absl::StatusOr<ServedShards*> ShardsFor(int worker, const WorkerPlan& plan);
  absl::Status CheckEqualPlans(int worker, const WorkerPlan& plan) const;
  void HandleLeave(const std::shared_ptr<PartFrame>& frame);
  void LeaveLane(PartFrame& frame, int lane);
  void Deliver(const std::vector<Reply>& replies, const ServedShards& shards);
  void Send(int worker, int channel, const grpc::ByteBuffer& message, const ServedShards& shards);
  std::shared_ptr<StreamToWorker> StreamOf(int worker, int channel) const;
  absl::Status Named(int worker, const absl::Status& why) const;
  void NoteStep(int worker, int64_t step);
  void ReportLost(int worker, const absl::Status& why);

  const Options options_;
  const Clock& clock_;
  const int64_t start_ns_;
  const int channels_;
  std::vector<Member> members_;                 // by rank
  std::unique_ptr<ServedShards> owned_shards_;  // the loop's thread's: from the first plan on
  int first_planned_ = -1;                      // the loop's thread's: whose plan it was
  // The loop's thread's: calls for the status, by their number, which is above all workers'.
  std::map<int, std::shared_ptr<StreamToWorker>> observers_;
  int last_observer_ = 0;
  std::atomic<ServedShards*> shards_ = nullptr;
  std::atomic<int64_t> step_ = -1;  // the largest of all pushes
  std::atomic<bool> stopping_ = false;
  std::unique_ptr<ApplyLanes> lanes_;
  std::atomic<bool> started_ = false;
  std::unique_ptr<StreamService> service_;  // constant once started
};

absl::Status Server::Impl::Start() {
  lanes_ = std::make_unique<ApplyLanes>(
      LaneThreads(options_.job.ps().apply_threads(), os::UsableCores()));
  // Of what a worker may push it has not been answered.
  const int unhandled_max = static_cast<int>(options_.job.ps().credits());
  ASSIGN_OR_RETURN(service_,
                   StreamService::Start(options_.address, options_.identity.tls_pem,
                                        options_.job.ps().unix_sockets(), unhandled_max, *this));
  started_ = true;
  return absl::OkStatus();
}

void Server::Impl::Stop() {
  stopping_ = true;
  if (service_ != nullptr) service_->Stop();
  lanes_.reset();
}

proto::ServerReport Server::Impl::report() const {
  proto::ServerReport report;
  const ServedShards* const shards = shards_;
  if (shards != nullptr) shards->AddTo(report);
  return report;
}

proto::WorkerStatus Server::Impl::Member::status(int64_t now_ns) const {
  proto::WorkerStatus status;
  status.set_state(lost        ? proto::WorkerStatus::LOST
                   : left      ? proto::WorkerStatus::LEFT
                   : connected ? proto::WorkerStatus::CONNECTED
                               : proto::WorkerStatus::AWAITED);
  status.set_step(step);
  status.set_silent_s(-1);
  if (!connected) return status;
  status.set_address(peer);
  // A message may come while this is being collected.
  status.set_silent_s(static_cast<double>(std::max<int64_t>(now_ns - heard_ns, 0)) * 1e-9);
  for (const Channel& channel : channels) {
    const std::lock_guard lock(channel.mutex);
    if (channel.stream == nullptr) continue;
    const StreamToWorker::Queued queued = channel.stream->queued();
    status.set_queued_messages(status.queued_messages() + queued.messages);
    status.set_queued_bytes(status.queued_bytes() + queued.bytes);
  }
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
  if (started_) status.set_address(service_->address());
  status.set_step(step_);
  for (const Member& member : members_) *status.add_workers() = member.status(now_ns);
  const ServedShards* const shards = shards_;
  if (shards != nullptr) {
    shards->AddTo(*status.mutable_totals());
    status.mutable_totals()->clear_spans();
    shards->AddTo(status);
  }
  if (options_.add_to_status) options_.add_to_status(status);
  return status;
}

// The rank of a caller that may take part.
absl::StatusOr<int> Server::Impl::CheckCall(const grpc::GenericServerContext& context) const {
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

absl::StatusOr<int> Server::Impl::OnCall(const grpc::GenericServerContext& context,
                                         const std::shared_ptr<StreamToWorker>& stream) {
  if (context.method() == kStatusMethod) {
    RETURN_IF_ERROR(net::CheckObserver(options_.identity, context));
    last_observer_ = std::max(last_observer_ + 1, options_.job.workers() * channels_);
    observers_[last_observer_] = stream;
    return last_observer_;
  }
  ASSIGN_OR_RETURN(const int rank, CheckCall(context));
  ASSIGN_OR_RETURN(const int number, ChannelOf(context));
  if (stopping_) return absl::UnavailableError("the server stops");
  Member& member = members_[rank];
  Channel& channel = member.channels[number];
  if (channel.connected) {
    return absl::AlreadyExistsError(
        absl::StrCat("worker ", rank, " has been connected before, from ", member.peer));
  }
  channel.connected = true;
  if (!member.connected) member.peer = net::PeerAddress(context);
  member.heard_ns = clock_.NowNs();
  member.connected = true;
  const std::lock_guard lock(channel.mutex);
  channel.stream = stream;
  return rank * channels_ + number;
}

absl::StatusOr<int> Server::Impl::ChannelOf(const grpc::GenericServerContext& context) const {
  const auto found = context.client_metadata().find(kChannelKey);
  if (found == context.client_metadata().end()) return 0;
  int channel = -1;
  const absl::string_view text(found->second.data(), found->second.size());
  if (absl::SimpleAtoi(text, &channel) && channel >= 0 && channel < channels_) return channel;
  return absl::InvalidArgumentError(
      absl::StrCat("a stream is channel ", text, "; this job's are 0 to ", channels_ - 1));
}

void Server::Impl::AnswerObserver(StreamToWorker& stream) {
  const std::string bytes = status().SerializeAsString();
  const grpc::Slice slice(bytes);
  // The stream ends when the observer has closed its half, as it does after its one message.
  stream.Handled(stream.Send(grpc::ByteBuffer(&slice, 1), 1));
}

void Server::Impl::OnMessage(int stream, const grpc::ByteBuffer& buffer) {
  if (const auto observer = observers_.find(stream); observer != observers_.end()) {
    return AnswerObserver(*observer->second);
  }
  const int worker = stream / channels_;
  const int channel = stream % channels_;
  members_[worker].heard_ns = clock_.NowNs();
  const auto frame =
      std::make_shared<PartFrame>(worker, channel, StreamOf(worker, channel), buffer);
  const absl::StatusOr<FrameHeader> header = DecodeHeader(frame->message->bytes());
  if (header.ok()) frame->header = *header;
  Guard(*frame, [&] { return header.ok() ? Dispatch(frame) : header.status(); });
}

// Does what belongs to a frame, which ends its stream where it fails.
void Server::Impl::Guard(PartFrame& frame, const std::function<absl::Status()>& work) {
  absl::Status status;
  // How much memory is asked for is for the worker to say: too much ends its stream.
  try {
    status = work();
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError(absl::StrCat(
        "server ", options_.identity.rank, " has too little memory for the ",
        FrameKindName(frame.header.kind), " frame of worker ", frame.worker, ": use more servers"));
  }
  if (status.ok()) return;
  ReportLost(frame.worker, Named(frame.worker, status));
  frame.Handled(status);
}

// To who deals with the frame, and says there that it has been handled; an error says so too.
absl::Status Server::Impl::Dispatch(const std::shared_ptr<PartFrame>& frame) {
  const FrameHeader& header = frame->header;
  if (header.kind == FrameKind::kPlan) {
    RETURN_IF_ERROR(HandlePlan(*frame));
    frame->Handled(absl::OkStatus());
    return absl::OkStatus();
  }
  const Member& member = members_[frame->worker];
  if (!member.channels[frame->channel].planned || member.left) {
    return absl::FailedPreconditionError(absl::StrCat(
        FrameKindName(header.kind), " frame ", member.left ? "after leave" : "before the plan"));
  }
  ServedShards& shards = *shards_;
  frame->CountIn(shards);
  if (header.kind == FrameKind::kLeave) {
    HandleLeave(frame);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckPart(header, shards.plan(), options_.identity.rank, shards.wire()));
  lanes_->Post(shards.LaneOf(header), [this, frame] {
    Guard(*frame, [&] {
      RETURN_IF_ERROR(Handle(*frame));
      frame->Handled(absl::OkStatus());
      return absl::OkStatus();
    });
  });
  return absl::OkStatus();
}

absl::Status Server::Impl::Handle(PartFrame& frame) {
  ServedShards& shards = *frame.shards;
  const FrameHeader& header = frame.header;
  absl::StatusOr<std::vector<Reply>> replies;
  switch (header.kind) {
    case FrameKind::kInitialize:
      replies = shards.Initialize(frame.worker, header, frame.payload());
      break;
    case FrameKind::kPull:
      replies = shards.Pull(frame.worker, header);
      break;
    case FrameKind::kPush:
      replies = shards.Push(frame.worker, header, frame.payload());
      break;
    case FrameKind::kNorm:
      replies = shards.GiveNorm(frame.worker, header, frame.payload());
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("a worker sent a server's ", FrameKindName(header.kind), " frame"));
  }
  RETURN_IF_ERROR(replies.status());
  Deliver(*replies, shards);
  if (header.kind == FrameKind::kPush) NoteStep(frame.worker, header.step);
  return absl::OkStatus();
}

absl::Status Server::Impl::HandlePlan(PartFrame& frame) {
  ASSIGN_OR_RETURN(const WorkerPlan plan, DecodePlan(frame.payload()));
  ASSIGN_OR_RETURN(ServedShards* const shards, ShardsFor(frame.worker, plan));
  bool& planned = members_[frame.worker].channels[frame.channel].planned;
  if (planned) return absl::FailedPreconditionError("a second plan on one stream");
  RETURN_IF_ERROR(CheckEqualPlans(frame.worker, plan));
  planned = true;
  Send(frame.worker, frame.channel, MakeMessage({.kind = FrameKind::kAck}), *shards);
  return absl::OkStatus();
}

// The parts of the first plan that came.
absl::StatusOr<ServedShards*> Server::Impl::ShardsFor(int worker, const WorkerPlan& plan) {
  if (owned_shards_ != nullptr) return owned_shards_.get();
  ASSIGN_OR_RETURN(ShardPlan shard_plan,
                   ShardPlanFor(plan, options_.job.servers(), options_.job.ps().part_bytes()));
  owned_shards_ = std::make_unique<ServedShards>(options_.job, plan, std::move(shard_plan),
                                                 options_.identity.rank, lanes_->count(), clock_);
  first_planned_ = worker;
  shards_ = owned_shards_.get();
  if (options_.on_plan) options_.on_plan(owned_shards_->Summary());
  return owned_shards_.get();
}

absl::Status Server::Impl::CheckEqualPlans(int worker, const WorkerPlan& plan) const {
  const WorkerPlan& first = owned_shards_->worker_plan();
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

// Behind all that the worker has pushed.
void Server::Impl::HandleLeave(const std::shared_ptr<PartFrame>& frame) {
  members_[frame->worker].left = true;
  for (int lane = 0; lane < lanes_->count(); ++lane) {
    lanes_->Post(lane, [this, frame, lane] { LeaveLane(*frame, lane); });
  }
  lanes_->PostAfterAll([this, frame] {
    if (options_.on_worker_leaving) options_.on_worker_leaving(frame->worker);
    Send(frame->worker, frame->channel, MakeMessage({.kind = FrameKind::kAck}), *frame->shards);
    frame->Handled(absl::OkStatus());
  });
}

void Server::Impl::LeaveLane(PartFrame& frame, int lane) {
  ServedShards::LeaveOutcome outcome = frame.shards->Leave(frame.worker, lane);
  Deliver(outcome.replies, *frame.shards);
  for (const int stranded : outcome.stranded) {
    for (int channel = 0; channel < channels_; ++channel) {
      const auto stream = StreamOf(stranded, channel);
      if (stream != nullptr) stream->Fail(outcome.failure);
    }
    ReportLost(stranded, Named(stranded, outcome.failure));
  }
}

void Server::Impl::Deliver(const std::vector<Reply>& replies, const ServedShards& shards) {
  for (const Reply& reply : replies) {
    Send(reply.worker, shards.ChannelOf(reply.part), reply.message, shards);
  }
}

// A worker whose stream has ended gets nothing.
void Server::Impl::Send(int worker, int channel, const grpc::ByteBuffer& message,
                        const ServedShards& shards) {
  const auto stream = StreamOf(worker, channel);
  if (stream == nullptr) return;
  const absl::Status status = stream->Send(message, shards.queued_max());
  if (!status.ok()) ReportLost(worker, Named(worker, status));
}

std::shared_ptr<StreamToWorker> Server::Impl::StreamOf(int worker, int channel) const {
  const Channel& of = members_[worker].channels[channel];
  const std::lock_guard lock(of.mutex);
  return of.stream;
}

// For the server's log; on its own stream a worker knows who it is.
absl::Status Server::Impl::Named(int worker, const absl::Status& why) const {
  return Annotate(why, absl::StrCat("worker ", worker, " at ", members_[worker].peer, ": "));
}

void Server::Impl::NoteStep(int worker, int64_t step) {
  members_[worker].step = step;
  int64_t largest = step_;
  while (step > largest) {
    if (!step_.compare_exchange_weak(largest, step)) continue;
    if (options_.on_step) options_.on_step(step);
    return;
  }
}

void Server::Impl::ReportLost(int worker, const absl::Status& why) {
  if (stopping_ || members_[worker].lost.exchange(true)) return;
  if (options_.on_worker_lost) options_.on_worker_lost(worker, why);
}

void Server::Impl::OnClosed(int stream) {
  if (stream >= options_.job.workers() * channels_) return;  // an observer
  const int worker = stream / channels_;
  const Member& member = members_[worker];
  if (member.left) return;
  const int64_t step = member.step;
  ReportLost(worker, absl::UnavailableError(absl::StrCat(
                         "worker ", worker, " at ", member.peer, " ended its connection ",
                         step < 0 ? "before its first push"
                                  : absl::StrCat("after its push for step ", step))));
}

void Server::Impl::OnDone(int stream) {
  if (observers_.erase(stream) > 0) return;
  Channel& channel = members_[stream / channels_].channels[stream % channels_];
  const std::lock_guard lock(channel.mutex);
  channel.stream.reset();
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
const std::string& Server::address() const { return impl_->service().address(); }
const std::string& Server::unix_socket() const { return impl_->service().unix_socket(); }
void Server::Stop() { impl_->Stop(); }
proto::ServerReport Server::report() const { return impl_->report(); }
proto::ServerStatus Server::status() const { return impl_->status(); }

}  // namespace crossover::ps
