#include "ps/client.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/gradient_norm.h"
#include "core/shard_plan.h"
#include "core/status.h"
#include "ps/bucket_progress.h"
#include "ps/completion_loop.h"
#include "ps/frame_buffer.h"
#include "ps/owed_answers.h"
#include "ps/part_versions.h"
#include "ps/stream_to_server.h"
#include "ps/wire.h"

namespace crossover::ps {
namespace {

// More than the about 20 s after which gRPC gives up a connection on which nothing moves.
constexpr double kReturnS = 60;
constexpr int64_t kCancelCheckNs = 100'000'000;

}  // namespace

class Client::Impl final : public FrameHandler {
 public:
  Impl(const Options& options, const BucketPlan& buckets, ShardPlan plan, Timeline& timeline);
  ~Impl() override;

  absl::Status Connect();
  absl::Status Initialize(std::span<const float> parameters);
  absl::Status Pull(std::span<float> parameters);
  void BeginStep(int64_t step, std::span<const float> source, std::span<float> destination);
  void PushBucket(int bucket);
  absl::Status Wait();
  int64_t OldestVersion() const;
  absl::Status Leave();
  void Abort(const absl::Status& why);
  ClientCounters counters() const;

  absl::Status OnFrame(int stream, const FrameHeader& header, const Payload& payload) override;
  void OnWritten(int stream, const FrameHeader& header) override;
  void OnEnd(int stream, const absl::Status& status) override;

 private:
  // Frames of parts to one server, in order.
  struct Outbox {
    std::deque<int> waiting;  // parts; what is sent of each follows from what it is owed
    int64_t unanswered = 0;   // sent, at most options_.credits
  };

  absl::Status OnAck(int server, const FrameHeader& header);
  absl::Status OnReply(int server, const FrameHeader& header, const Payload& values);
  absl::Status OnSquares(int server, const FrameHeader& header, const Payload& payload);
  void SendToEach(int channels, FrameKind kind, std::span<const std::byte> payload);
  absl::Status ExchangeAll(Owed answer, std::span<const float> source,
                           std::span<float> destination);
  void QueueLocked(const Part& part, Owed answer);
  void SendAllLocked();
  void SendLocked(int server);
  OutgoingFrame FrameForLocked(const Part& part) const;
  void AnsweredLocked(int server);
  void FailLocked(const absl::Status& why);
  std::string WhereLocked() const;
  std::string DebtorLocked() const;
  std::string ServerName(int server) const;
  void CheckSize(size_t length) const;
  template <typename Predicate>
  absl::Status WaitFor(Predicate done);

  const Options options_;
  const ShardPlan plan_;
  const int64_t length_;
  const std::vector<std::byte> encoded_plan_;
  Timeline& timeline_;
  SliceLender lender_;
  CompletionLoop loop_;
  const std::shared_ptr<PartPool> pool_;
  const std::vector<int> channel_of_part_;
  std::vector<std::unique_ptr<StreamToServer>> streams_;  // by server, and by channel there

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  absl::Status failure_;  // the first
  int running_streams_ = 0;
  bool connected_ = false;
  bool leaving_ = false;
  OwedAnswers owed_;
  PartVersions versions_;
  std::vector<Outbox> outboxes_;  // by server
  BucketProgress buckets_;
  int next_bucket_ = 0;    // of the step; those before it are in outboxes_ or sent
  int awaited_parts_ = 0;  // acks and pulls
  int64_t step_ = -1;
  int64_t held_ns_max_ = 0;  // of the step
  std::span<const float> source_;
  std::span<float> destination_;
  SquareSum squares_;         // of the parts whose squares have come in the step
  size_t parts_squared_ = 0;  // how many
  double norm_ = 0;           // of all of them
  ClientCounters counters_;
};

Client::Impl::Impl(const Options& options, const BucketPlan& buckets, ShardPlan plan,
                   Timeline& timeline)
    : options_(options),
      plan_(std::move(plan)),
      length_(std::accumulate(plan_.server_length.begin(), plan_.server_length.end(), int64_t{0})),
      encoded_plan_(EncodePlan(MakeWorkerPlan(buckets, options.total_steps))),
      timeline_(timeline),
      loop_(std::make_unique<grpc::CompletionQueue>()),
      pool_(PartPool::Make(options.part_bytes / static_cast<int64_t>(sizeof(float)))),
      channel_of_part_(PartChannels(plan_, options.channels)),
      owed_(plan_.parts.size(), options.servers.size()),
      versions_(plan_.parts.size()),
      outboxes_(options.servers.size()),
      buckets_(plan_.bucket_parts.size(), timeline) {}

Client::Impl::~Impl() {
  Abort(absl::CancelledError("the client was destroyed"));
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return running_streams_ == 0; });
  }
  streams_.clear();  // and their channels, which may still write what they were lent
  CROSSOVER_CHECK(lender_.WaitUntilReturned(kReturnS),
                  "gRPC returns the buffers of a channel that was closed");
  loop_.Stop();  // before what its thread has used
}

absl::Status Client::Impl::Connect() {
  running_streams_ = static_cast<int>(options_.servers.size()) * options_.channels;
  for (int stream = 0; stream < running_streams_; ++stream) {
    const int server = stream / options_.channels;
    streams_.push_back(std::make_unique<StreamToServer>(stream, options_.TargetOf(server),
                                                        stream % options_.channels,
                                                        options_.identity, *this, lender_, *pool_));
  }
  for (const auto& stream : streams_) stream->Start(loop_);
  SendToEach(options_.channels, FrameKind::kPlan, encoded_plan_);
  std::unique_lock lock(mutex_);
  const auto acknowledged = [this] { return !failure_.ok() || !owed_.any_acks_missing(); };
  const int64_t deadline_ns =
      timeline_.clock().NowNs() + static_cast<int64_t>(options_.connect_s * 1e9);
  while (!acknowledged()) {
    if (options_.cancelled) {
      lock.unlock();
      const absl::Status cancelled = options_.cancelled();
      lock.lock();
      if (!cancelled.ok()) FailLocked(cancelled);
    }
    const int64_t left_ns = deadline_ns - timeline_.clock().NowNs();
    if (left_ns <= 0 || acknowledged()) break;
    changed_.wait_for(lock, std::chrono::nanoseconds(std::min(left_ns, kCancelCheckNs)));
  }
  if (!acknowledged()) {
    FailLocked(absl::DeadlineExceededError(
        absl::StrCat(DebtorLocked(), ": no answer within ", options_.connect_s,
                     " s: is the server running, and reachable from here?")));
  }
  connected_ = failure_.ok();
  return failure_;
}

// To every server, on so many of its streams, and expects an ack of each.
void Client::Impl::SendToEach(int channels, FrameKind kind, std::span<const std::byte> payload) {
  {
    const std::lock_guard lock(mutex_);
    owed_.ExpectAcks(channels);
  }
  for (size_t stream = 0; stream < streams_.size(); ++stream) {
    if (static_cast<int>(stream) % options_.channels >= channels) continue;
    streams_[stream]->Send({.header = {.kind = kind}, .bytes = payload});
  }
}

void Client::Impl::CheckSize(size_t length) const {
  CROSSOVER_CHECK(static_cast<int64_t>(length) == length_, "the buffer has the plan's length");
}

// Blocks until done() under the lock, the failure that comes first, or the bound.
template <typename Predicate>
absl::Status Client::Impl::WaitFor(Predicate done) {
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double> bound(options_.step_s);
  if (!changed_.wait_for(lock, bound, [&] { return !failure_.ok() || done(); })) {
    FailLocked(absl::DeadlineExceededError(absl::StrCat(DebtorLocked(), ": no answer within ",
                                                        options_.step_s, " s, ", WhereLocked())));
  }
  return failure_;
}

absl::Status Client::Impl::Initialize(std::span<const float> parameters) {
  CheckSize(parameters.size());
  return ExchangeAll(Owed::kInitialize, parameters, {});
}

absl::Status Client::Impl::Pull(std::span<float> parameters) {
  CheckSize(parameters.size());
  return ExchangeAll(Owed::kPull, {}, parameters);
}

// A frame for each part, until all have been answered.
absl::Status Client::Impl::ExchangeAll(Owed answer, std::span<const float> source,
                                       std::span<float> destination) {
  {
    const std::lock_guard lock(mutex_);
    source_ = source;
    destination_ = destination;
    awaited_parts_ = static_cast<int>(plan_.parts.size());
    for (const Part& part : plan_.parts) QueueLocked(part, answer);
    SendAllLocked();
  }
  return WaitFor([this] { return awaited_parts_ == 0; });
}

void Client::Impl::BeginStep(int64_t step, std::span<const float> source,
                             std::span<float> destination) {
  CheckSize(source.size());
  CheckSize(destination.size());
  const std::lock_guard lock(mutex_);
  step_ = step;
  source_ = source;
  destination_ = destination;
  held_ns_max_ = 0;
  buckets_.BeginStep();
  versions_.BeginStep();
  next_bucket_ = 0;
  squares_ = {};
  parts_squared_ = 0;
}

void Client::Impl::PushBucket(int bucket) {
  const std::lock_guard lock(mutex_);
  buckets_.Push(bucket, static_cast<int>(plan_.bucket_parts[bucket].size()));
  // Backward passes may end around each other, but all workers push in one order: see SendLocked.
  const int buckets = static_cast<int>(plan_.bucket_parts.size());
  for (; next_bucket_ < buckets && buckets_.pushed(next_bucket_); ++next_bucket_) {
    for (const int id : plan_.bucket_parts[next_bucket_]) {
      QueueLocked(plan_.parts[id], Owed::kPush);
    }
  }
  SendAllLocked();
}

void Client::Impl::QueueLocked(const Part& part, Owed answer) {
  owed_.Expect(part.id, answer);
  outboxes_[part.server].waiting.push_back(part.id);
}

// Workers begin with different servers, or all would fill one server's link at a time.
void Client::Impl::SendAllLocked() {
  const int servers = static_cast<int>(outboxes_.size());
  for (int i = 0; i < servers; ++i) SendLocked((i + options_.identity.rank) % servers);
}

// What the credits allow. All workers push a server's parts in one order, so the oldest part that
// lacks an answer is one that others still push, or a bound holds back: nobody waits in a circle.
void Client::Impl::SendLocked(int server) {
  Outbox& outbox = outboxes_[server];
  while (!outbox.waiting.empty() && outbox.unanswered < options_.credits) {
    const int id = outbox.waiting.front();
    outbox.waiting.pop_front();
    ++outbox.unanswered;
    const size_t stream = server * options_.channels + channel_of_part_[id];
    streams_[stream]->Send(FrameForLocked(plan_.parts[id]));
  }
}

// That asks for what the part is owed.
OutgoingFrame Client::Impl::FrameForLocked(const Part& part) const {
  const Owed answer = owed_.Of(part.id);
  OutgoingFrame frame = {.header = {.part = static_cast<uint32_t>(part.id)}};
  FrameHeader& header = frame.header;
  if (answer == Owed::kNorm) {
    header.kind = FrameKind::kNorm;
    header.step = step_;
    header.payload_bytes = sizeof(norm_);
    frame.bytes = std::as_bytes(std::span(&norm_, 1));
    return frame;
  }
  header.kind = answer == Owed::kInitialize ? FrameKind::kInitialize : FrameKind::kPull;
  if (answer != Owed::kPull) frame.values = source_.subspan(part.offset, part.length);
  if (answer == Owed::kPush) {
    header.kind = FrameKind::kPush;
    header.step = step_;
    header.version = versions_.Of(part.id);
    header.type = options_.wire;
  }
  header.payload_bytes = static_cast<int64_t>(BytesOf(header.type) * frame.values.size());
  return frame;
}

void Client::Impl::AnsweredLocked(int server) {
  --outboxes_[server].unanswered;
  SendLocked(server);
}

absl::Status Client::Impl::Wait() {
  {
    const std::lock_guard lock(mutex_);
    CROSSOVER_CHECK(buckets_.unpushed() == 0, "every bucket is pushed before the wait");
  }
  RETURN_IF_ERROR(WaitFor([this] { return buckets_.unfinished() == 0; }));
  if (held_ns_max_ > 0) timeline_.AddHeld(held_ns_max_);
  return absl::OkStatus();
}

int64_t Client::Impl::OldestVersion() const {
  const std::lock_guard lock(mutex_);
  return versions_.oldest();
}

absl::Status Client::Impl::Leave() {
  {
    const std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(failure_);
    leaving_ = true;
  }
  SendToEach(1, FrameKind::kLeave, {});
  RETURN_IF_ERROR(WaitFor([this] { return !owed_.any_acks_missing(); }));
  for (const auto& stream : streams_) stream->CloseWrites();
  return WaitFor([this] { return running_streams_ == 0; });
}

void Client::Impl::Abort(const absl::Status& why) {
  {
    const std::lock_guard lock(mutex_);
    FailLocked(why);
  }
  for (const auto& stream : streams_) stream->Cancel();
}

ClientCounters Client::Impl::counters() const {
  const std::lock_guard lock(mutex_);
  return {counters_.sent_bytes, counters_.received_bytes, versions_.counts()};
}

absl::Status Client::Impl::OnFrame(int stream, const FrameHeader& header, const Payload& payload) {
  const int server = stream / options_.channels;
  if (header.kind == FrameKind::kAck) return OnAck(server, header);
  if (header.kind == FrameKind::kReply) return OnReply(server, header, payload);
  if (header.kind == FrameKind::kSquares) return OnSquares(server, header, payload);
  return absl::InvalidArgumentError(
      absl::StrCat("the server sent a worker's ", FrameKindName(header.kind), " frame"));
}

absl::Status Client::Impl::OnAck(int server, const FrameHeader& header) {
  if (header.part != FrameHeader::kNoPart)
    RETURN_IF_ERROR(CheckPart(header, plan_, server, options_.wire));
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(owed_.TakeAck(server, header));
  if (header.part != FrameHeader::kNoPart) {
    --awaited_parts_;
    AnsweredLocked(server);
  }
  changed_.notify_all();
  return absl::OkStatus();
}

// The first of two answers to a push where servers clip. It gives the credit back: a part waits
// for its norm until all others have had their pushes.
absl::Status Client::Impl::OnSquares(int server, const FrameHeader& header,
                                     const Payload& payload) {
  RETURN_IF_ERROR(CheckPart(header, plan_, server, options_.wire));
  std::array<std::byte, SquareSum::kBytes> bytes;
  payload.CopyHead(bytes);
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(owed_.TakeSquares(header, step_));
  squares_.Add(SquareSum(bytes));
  AnsweredLocked(server);
  if (++parts_squared_ < plan_.parts.size()) return absl::OkStatus();
  norm_ = squares_.Norm();
  for (const Part& part : plan_.parts) QueueLocked(part, Owed::kNorm);
  SendAllLocked();
  return absl::OkStatus();
}

absl::Status Client::Impl::OnReply(int server, const FrameHeader& header, const Payload& values) {
  RETURN_IF_ERROR(CheckPart(header, plan_, server, options_.wire));
  const Part& part = plan_.parts[header.part];
  Owed answered;
  std::span<float> destination;
  {
    const std::lock_guard lock(mutex_);
    ASSIGN_OR_RETURN(answered, owed_.TakeReply(header, step_));
    if (answered != Owed::kPull) versions_.CountReply(part.id, header.version, header.late);
    versions_.Set(part.id, header.version);
    destination = destination_;
  }
  // Without the lock: the buffer is lent until this part has been counted below.
  values.CopyTo(destination.subspan(part.offset, part.length));
  const std::lock_guard lock(mutex_);
  AnsweredLocked(server);
  if (answered == Owed::kPull) {
    if (--awaited_parts_ == 0) changed_.notify_all();
    return absl::OkStatus();
  }
  counters_.received_bytes += header.payload_bytes;
  held_ns_max_ = std::max(held_ns_max_, header.held_ns);
  buckets_.Answered(part.bucket);
  if (buckets_.unfinished() == 0) changed_.notify_all();
  return absl::OkStatus();
}

void Client::Impl::OnWritten(int, const FrameHeader& header) {
  if (header.kind != FrameKind::kPush) return;
  const std::lock_guard lock(mutex_);
  counters_.sent_bytes += header.payload_bytes;
  buckets_.Written(plan_.parts[header.part].bucket);
  if (buckets_.unfinished() == 0) changed_.notify_all();
}

void Client::Impl::OnEnd(int stream, const absl::Status& status) {
  const int server = stream / options_.channels;
  const std::lock_guard lock(mutex_);
  --running_streams_;
  changed_.notify_all();
  if (status.ok() && leaving_) return;
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kUnknown:
      FailLocked(absl::UnavailableError(
          absl::StrCat(ServerName(server), ": connection lost ", WhereLocked(), ": ",
                       status.ok() ? "the server ended it" : status.message())));
      return;
    default:
      FailLocked(Annotate(status, absl::StrCat(ServerName(server), ", ", WhereLocked(), ": ")));
  }
}

void Client::Impl::FailLocked(const absl::Status& why) {
  if (!failure_.ok()) return;
  failure_ = why;
  changed_.notify_all();
}

std::string Client::Impl::WhereLocked() const {
  if (!connected_) return "while connecting";
  if (leaving_) return "while leaving";
  return step_ < 0 ? "before the first step" : absl::StrCat("in step ", step_);
}

// A server that owes an answer.
std::string Client::Impl::DebtorLocked() const {
  const std::optional<int> part = owed_.AnyPart();
  if (part) return ServerName(plan_.parts[*part].server);
  for (int server = 0; server < static_cast<int>(options_.servers.size()); ++server) {
    if (owed_.acks_missing(server)) return ServerName(server);
  }
  return "the servers";
}

std::string Client::Impl::ServerName(int server) const {
  return absl::StrCat(net::ProcessName(net::Role::kServer, server), " at ",
                      options_.servers[server]);
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const Options& options,
                                                        const BucketPlan& buckets,
                                                        Timeline& timeline) {
  CROSSOVER_CHECK(!options.servers.empty(), "a parameter-server job has servers");
  ASSIGN_OR_RETURN(ShardPlan plan,
                   ShardPlanFor(MakeWorkerPlan(buckets, options.total_steps),
                                static_cast<int>(options.servers.size()), options.part_bytes));
  auto impl = std::make_unique<Impl>(options, buckets, std::move(plan), timeline);
  RETURN_IF_ERROR(impl->Connect());
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;
absl::Status Client::Initialize(std::span<const float> parameters) {
  return impl_->Initialize(parameters);
}
absl::Status Client::Pull(std::span<float> parameters) { return impl_->Pull(parameters); }
void Client::BeginStep(int64_t step, std::span<const float> source, std::span<float> destination) {
  impl_->BeginStep(step, source, destination);
}
void Client::PushBucket(int bucket) { impl_->PushBucket(bucket); }
absl::Status Client::Wait() { return impl_->Wait(); }
int64_t Client::OldestVersion() const { return impl_->OldestVersion(); }
absl::Status Client::Leave() { return impl_->Leave(); }
void Client::Abort(const absl::Status& why) { impl_->Abort(why); }
ClientCounters Client::counters() const { return impl_->counters(); }

}  // namespace crossover::ps
