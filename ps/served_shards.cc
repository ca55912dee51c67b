#include "ps/served_shards.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/histogram.h"
#include "core/kept_steps.h"
#include "core/status.h"
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

  ServedPart(const proto::Job& job, const Policy& policy, int64_t length, int64_t total_steps)
      : shard(job, policy, length, total_steps), workers(policy.workers) {}

  mutable std::mutex mutex;  // guards everything below
  ShardPart shard;
  std::vector<PerWorker> workers;
  int64_t apply_ns = 0;
  int64_t pushes = 0;  // late ones too
  int64_t replies = 0;
  int64_t lead_steps_max = 0;
};

namespace {

// The parameters in a buffer of their own: the next update overwrites the part
// while this reply may still be on its way.
grpc::Slice CopyOf(const ShardPart& shard) {
  return grpc::Slice(shard.parameters().data(), shard.parameters().size_bytes());
}

FrameHeader ReplyHeader(uint32_t part, int64_t step, int64_t version) {
  return {.kind = FrameKind::kReply, .part = part, .step = step, .version = version};
}

}  // namespace

ServedShards::ServedShards(const proto::Job& job, const WorkerPlan& worker_plan, ShardPlan plan,
                           int server, const Clock& clock)
    : policy_(PolicyFor(job)),
      worker_plan_(worker_plan),
      plan_(std::move(plan)),
      server_(server),
      clock_(clock),
      recorder_(KeptSteps(job, worker_plan.total_steps)),
      parts_(plan_.parts.size()) {
  for (const int id : plan_.server_parts[server]) {
    parts_[id] =
        std::make_unique<ServedPart>(job, policy_, plan_.parts[id].length, worker_plan.total_steps);
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
  replies.push_back({worker, MakeMessage({.kind = FrameKind::kAck, .part = header.part})});
  const grpc::Slice copy = CopyOf(part.shard);
  for (int other = 0; other < policy_.workers; ++other) {
    if (!std::exchange(part.workers[other].pull_waits, false)) continue;
    replies.push_back({other, MakeMessage(ReplyHeader(header.part, -1, 0), copy)});
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
    replies.push_back({worker, MakeMessage(ReplyHeader(header.part, -1, part.shard.version()),
                                           CopyOf(part.shard))});
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
  if (pushed->late) ++part.workers[worker].late_pushes;
  part.workers[worker].push_waits = true;
  if (pushed->held) {
    part.workers[worker].held_since_ns = clock_.NowNs();
    ++part.workers[worker].held_replies;
  }
  return Replies(part, header.part, pushed->released);
}

// The caller holds the part's lock.
std::vector<Reply> ServedShards::Replies(ServedPart& part, uint32_t id,
                                         const std::vector<Release>& released) {
  std::vector<Reply> replies;
  if (released.empty()) return replies;
  const grpc::Slice copy = CopyOf(part.shard);
  for (const Release& release : released) {
    ServedPart::PerWorker& state = part.workers[release.worker];
    state.push_waits = false;
    FrameHeader header = ReplyHeader(id, release.step, release.version);
    header.late = release.late;
    if (state.held_since_ns >= 0) {
      header.held_ns = clock_.NowNs() - std::exchange(state.held_since_ns, -1);
      state.held_ns += header.held_ns;
    }
    part.lead_steps_max = std::max(part.lead_steps_max, release.lead_steps);
    ++part.replies;
    replies.push_back({release.worker, MakeMessage(header, copy)});
  }
  return replies;
}

ServedShards::LeaveOutcome ServedShards::Leave(int worker) {
  LeaveOutcome outcome;
  for (const int id : plan_.server_parts[server_]) {
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
  for (const int id : plan_.server_parts[server_]) {
    const ServedPart& part = *parts_[id];
    const std::lock_guard lock(part.mutex);
    const int64_t bytes = 4 * plan_.parts[id].length;
    report.set_parameter_bytes(report.parameter_bytes() + bytes);
    report.set_state_bytes(report.state_bytes() + part.shard.state_bytes());
    report.set_apply_ns(report.apply_ns() + part.apply_ns);
    report.set_pushes(report.pushes() + part.pushes);
    report.set_payload_received_bytes(report.payload_received_bytes() + part.pushes * bytes);
    report.set_payload_sent_bytes(report.payload_sent_bytes() + part.replies * bytes);
    report.set_lead_steps_max(std::max(report.lead_steps_max(), part.lead_steps_max));
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
  recorder_.AddTo(report);
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
