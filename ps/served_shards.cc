#include "ps/served_shards.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/histogram.h"
#include "core/kept_steps.h"
#include "core/status.h"
#include "ps/apply_lanes.h"
#include "ps/frame_buffer.h"

namespace crossover::ps {

struct ServedShards::ServedPart {
  struct PerWorker {
    bool pull_waits = false;     // for initialisation
    bool push_waits = false;     // for its reply
    int64_t held_since_ns = -1;  // or -1
    int64_t held_replies = 0;
    int64_t held_ns = 0;
    int64_t late_pushes = 0;
  };

  ServedPart(const proto::Job& job, const Policy& policy, int64_t length, int64_t total_steps,
             std::shared_ptr<PartPool> pool)
      : shard(job, policy, length, total_steps, std::move(pool)), workers(policy.workers) {}

  mutable std::mutex mutex;  // of all below
  ShardPart shard;
  std::vector<PerWorker> workers;
  int64_t apply_ns = 0;
  int64_t pushes = 0;  // late ones too
  int64_t replies = 0;
  int64_t lead_steps_max = 0;
  int64_t awaits_norm_since_ns = -1;  // or -1
  int64_t norm_wait_ns = 0;
  int64_t norms = 0;  // updates that waited for one
};

namespace {

int64_t LongestPart(const ShardPlan& plan, int server) {
  int64_t length_max = 0;
  for (const int id : plan.server_parts[server]) {
    length_max = std::max(length_max, plan.parts[id].length);
  }
  return length_max;
}

std::vector<int> LanesByPart(const ShardPlan& plan, int server, int lanes) {
  const std::vector<int>& ids = plan.server_parts[server];
  std::vector<int64_t> lengths;
  for (const int id : ids) lengths.push_back(plan.parts[id].length);
  const std::vector<int> assigned = AssignToLanes(lengths, lanes);
  std::vector<int> by_part(plan.parts.size(), -1);
  for (size_t i = 0; i < ids.size(); ++i) by_part[ids[i]] = assigned[i];
  return by_part;
}

FrameHeader ReplyHeader(uint32_t part, int64_t step, int64_t version) {
  return {.kind = FrameKind::kReply, .part = part, .step = step, .version = version};
}

}  // namespace

ServedShards::ServedShards(const proto::Job& job, const WorkerPlan& worker_plan, ShardPlan plan,
                           int server, int lanes, const Clock& clock)
    : policy_(PolicyFor(job)),
      worker_plan_(worker_plan),
      plan_(std::move(plan)),
      server_(server),
      wire_(WireTypeOf(job)),
      clock_(clock),
      pool_(PartPool::Make(LongestPart(plan_, server))),
      lane_count_(lanes),
      lanes_(LanesByPart(plan_, server, lanes)),
      recorder_(KeptSteps(job, worker_plan.total_steps)),
      channel_of_part_(PartChannels(plan_, static_cast<int>(job.ps().channels()))),
      parts_(plan_.parts.size()) {
  for (const int id : plan_.server_parts[server]) {
    parts_[id] = std::make_unique<ServedPart>(job, policy_, plan_.parts[id].length,
                                              worker_plan.total_steps, pool_);
  }
}

ServedShards::~ServedShards() = default;

absl::StatusOr<std::vector<Reply>> ServedShards::Initialize(int worker, const FrameHeader& header,
                                                            const Payload& values) {
  if (worker != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("worker ", worker, " sent initial parameters; worker 0's are everyone's"));
  }
  ServedPart& part = PartOf(header);
  const std::lock_guard lock(part.mutex);
  RETURN_IF_ERROR(part.shard.Initialize(values));
  std::vector<Reply> replies;
  replies.push_back(
      {worker, header.part, MakeMessage({.kind = FrameKind::kAck, .part = header.part})});
  const grpc::Slice copy = CopyAs(DataType::kFloat32, part.shard.parameters(), *pool_);
  for (int other = 0; other < policy_.workers; ++other) {
    if (!std::exchange(part.workers[other].pull_waits, false)) continue;
    replies.push_back({other, header.part, MakeMessage(ReplyHeader(header.part, -1, 0), copy)});
  }
  return replies;
}

absl::StatusOr<std::vector<Reply>> ServedShards::Pull(int worker, const FrameHeader& header) {
  ServedPart& part = PartOf(header);
  const std::lock_guard lock(part.mutex);
  ServedPart::PerWorker& state = part.workers[worker];
  if (state.pull_waits) {
    return absl::FailedPreconditionError(absl::StrCat("pull of part ", header.part, " by worker ",
                                                      worker, ": its last pull is unanswered"));
  }
  std::vector<Reply> replies;
  if (part.shard.initialized()) {
    part.shard.NotePull(worker);
    const FrameHeader reply = ReplyHeader(header.part, -1, part.shard.version());
    replies.push_back(
        {worker, header.part,
         MakeMessage(reply, CopyAs(DataType::kFloat32, part.shard.parameters(), *pool_))});
  } else {
    state.pull_waits = true;
  }
  return replies;
}

absl::StatusOr<std::vector<Reply>> ServedShards::Push(int worker, const FrameHeader& header,
                                                      const Payload& values) {
  ServedPart& part = PartOf(header);
  const std::lock_guard lock(part.mutex);
  const int64_t start_ns = clock_.NowNs();
  const auto pushed = part.shard.Push(worker, header.step, header.version, values);
  const int64_t end_ns = clock_.NowNs();
  part.apply_ns += end_ns - start_ns;
  if (!pushed.ok()) {
    return Annotate(pushed.status(), absl::StrCat("part ", header.part, ": "));
  }
  recorder_.Record(header.step, plan_.parts[header.part].bucket, {start_ns, end_ns},
                   !pushed->released.empty());
  ++part.pushes;
  part.workers[worker].push_waits = true;
  if (pushed->late) ++part.workers[worker].late_pushes;
  if (pushed->held) {
    part.workers[worker].held_since_ns = clock_.NowNs();
    ++part.workers[worker].held_replies;
  }
  if (!pushed->told_squares.empty()) {
    part.awaits_norm_since_ns = end_ns;
    return Squares(part, header, pushed->told_squares);
  }
  return Replies(part, header.part, pushed->released);
}

// The caller holds the part's lock.
std::vector<Reply> ServedShards::Squares(const ServedPart& part, const FrameHeader& push,
                                         const std::vector<int>& workers) const {
  const auto bytes = part.shard.squares().ToBytes();
  const grpc::Slice slice(bytes.data(), bytes.size());
  const FrameHeader header = {.kind = FrameKind::kSquares, .part = push.part, .step = push.step};
  std::vector<Reply> replies;
  for (size_t i = 0; i < workers.size(); ++i) {
    const int worker = workers[(i + server_) % workers.size()];
    replies.push_back({worker, push.part, MakeMessage(header, slice)});
  }
  return replies;
}

absl::StatusOr<std::vector<Reply>> ServedShards::GiveNorm(int worker, const FrameHeader& header,
                                                          const Payload& payload) {
  double norm = 0;
  payload.CopyHead(std::as_writable_bytes(std::span(&norm, 1)));
  ServedPart& part = PartOf(header);
  const std::lock_guard lock(part.mutex);
  const int64_t start_ns = clock_.NowNs();
  const auto released = part.shard.GiveNorm(worker, header.step, norm);
  const int64_t end_ns = clock_.NowNs();
  part.apply_ns += end_ns - start_ns;
  if (!released.ok()) {
    return Annotate(released.status(), absl::StrCat("part ", header.part, ": "));
  }
  if (part.awaits_norm_since_ns >= 0) {
    part.norm_wait_ns += start_ns - std::exchange(part.awaits_norm_since_ns, -1);
    ++part.norms;
    recorder_.RecordUpdate(header.step, plan_.parts[header.part].bucket, {start_ns, end_ns});
  }
  return Replies(part, header.part, *released);
}

// The caller holds the part's lock.
std::vector<Reply> ServedShards::Replies(ServedPart& part, uint32_t id,
                                         const std::vector<Release>& released) {
  std::vector<Reply> replies;
  if (released.empty()) return replies;
  // In a buffer of their own: the next update overwrites the part while replies may still be on
  // their way.
  const grpc::Slice copy = CopyAs(wire_, part.shard.parameters(), *pool_);
  // Servers begin with different workers, or all would fill one worker's link at a time.
  for (size_t i = 0; i < released.size(); ++i) {
    const Release& release = released[(i + server_) % released.size()];
    ServedPart::PerWorker& state = part.workers[release.worker];
    state.push_waits = false;
    FrameHeader header = ReplyHeader(id, release.step, release.version);
    header.late = release.late;
    header.type = wire_;
    if (state.held_since_ns >= 0) {
      header.held_ns = clock_.NowNs() - std::exchange(state.held_since_ns, -1);
      state.held_ns += header.held_ns;
    }
    part.lead_steps_max = std::max(part.lead_steps_max, release.lead_steps);
    ++part.replies;
    replies.push_back({release.worker, id, MakeMessage(header, copy)});
  }
  return replies;
}

ServedShards::LeaveOutcome ServedShards::Leave(int worker, int lane) {
  LeaveOutcome outcome;
  for (const int id : plan_.server_parts[server_]) {
    if (lanes_[id] != lane) continue;
    ServedPart& part = *parts_[id];
    const std::lock_guard lock(part.mutex);
    part.workers[worker].pull_waits = false;
    part.workers[worker].push_waits = false;
    LeaveResult result = part.shard.Leave(worker);
    for (Reply& reply : Replies(part, static_cast<uint32_t>(id), result.released)) {
      outcome.replies.push_back(std::move(reply));
    }
    if (result.stranded.empty()) continue;
    outcome.stranded.insert(outcome.stranded.end(), result.stranded.begin(), result.stranded.end());
    outcome.failure = std::move(result.failure);
  }
  return outcome;
}

void ServedShards::AddTo(proto::ServerReport& report) const {
  Histogram staleness;
  RateSums rates;
  std::vector<ServedPart::PerWorker> workers(policy_.workers);
  int64_t norm_wait_ns = 0;
  for (const int id : plan_.server_parts[server_]) {
    const ServedPart& part = *parts_[id];
    const std::lock_guard lock(part.mutex);
    const int64_t length = plan_.parts[id].length;
    const int64_t bytes = static_cast<int64_t>(BytesOf(wire_)) * length;
    report.set_parameter_bytes(report.parameter_bytes() + 4 * length);
    report.set_state_bytes(report.state_bytes() + part.shard.state_bytes());
    report.set_apply_ns(report.apply_ns() + part.apply_ns);
    report.set_pushes(report.pushes() + part.pushes);
    report.set_payload_received_bytes(report.payload_received_bytes() + part.pushes * bytes);
    report.set_payload_sent_bytes(report.payload_sent_bytes() + part.replies * bytes);
    report.set_lead_steps_max(std::max(report.lead_steps_max(), part.lead_steps_max));
    report.set_global_phases(std::max(report.global_phases(), part.norms));
    norm_wait_ns += part.norm_wait_ns;
    staleness.Merge(part.shard.staleness());
    rates.contributions += part.shard.rates().contributions;
    rates.scheduled += part.shard.rates().scheduled;
    rates.effective += part.shard.rates().effective;
    for (int worker = 0; worker < policy_.workers; ++worker) {
      workers[worker].held_replies += part.workers[worker].held_replies;
      workers[worker].held_ns += part.workers[worker].held_ns;
      workers[worker].late_pushes += part.workers[worker].late_pushes;
      report.set_pushes(report.pushes() - part.workers[worker].late_pushes);
    }
  }
  for (const int64_t count : staleness.counts()) report.add_staleness_histogram(count);
  report.set_staleness_max(std::max<int64_t>(staleness.max(), 0));
  for (const ServedPart::PerWorker& worker : workers) {
    report.add_held_replies(worker.held_replies);
    report.add_held_ns(worker.held_ns);
    report.add_late_pushes(worker.late_pushes);
  }
  if (rates.contributions > 0) {
    const auto contributions = static_cast<double>(rates.contributions);
    report.set_scheduled_learning_rate(rates.scheduled / contributions);
    report.set_effective_learning_rate(rates.effective / contributions);
  }
  if (report.global_phases() > 0) {
    const auto parts = static_cast<int64_t>(plan_.server_parts[server_].size());
    report.set_global_phase_ns(norm_wait_ns / parts);
  }
  report.set_transient_bytes_max(pool_->held_bytes_max());
  recorder_.AddTo(report);
}

std::string ServedShards::Summary() const {
  std::vector<int64_t> lane_lengths(lane_count_);
  for (const int id : plan_.server_parts[server_])
    lane_lengths[lanes_[id]] += plan_.parts[id].length;
  const int64_t length = plan_.server_length[server_];
  const int64_t largest = *std::max_element(lane_lengths.begin(), lane_lengths.end());
  const double imbalance =
      length == 0 ? 1 : static_cast<double>(largest) * lane_count_ / static_cast<double>(length);
  return absl::StrFormat(
      "holds %d bytes of parameters in %d parts; the largest server has %.3f of the mean, its "
      "largest of %d apply threads %.3f",
      4 * length, plan_.server_parts[server_].size(), Imbalance(plan_), lane_count_, imbalance);
}

void ServedShards::AddTo(proto::ServerStatus& status) const {
  const std::vector<int>& ids = plan_.server_parts[server_];
  status.set_total_steps(worker_plan_.total_steps);
  status.set_parts(static_cast<int64_t>(ids.size()));
  for (const int id : ids) {
    const ServedPart& part = *parts_[id];
    const std::lock_guard lock(part.mutex);
    const int64_t version = part.shard.version();
    const bool first = id == ids.front();
    status.set_version_lowest(first ? version : std::min(status.version_lowest(), version));
    status.set_version_highest(std::max(status.version_highest(), version));
    for (int worker = 0; worker < policy_.workers; ++worker) {
      if (!part.workers[worker].push_waits) continue;
      proto::WorkerStatus& state = *status.mutable_workers(worker);
      state.set_unanswered_parts(state.unanswered_parts() + 1);
    }
  }
}

}  // namespace crossover::ps
