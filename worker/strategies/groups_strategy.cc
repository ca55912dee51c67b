#include "worker/strategies/groups_strategy.h"

#include "absl/strings/str_cat.h"
#include "core/reduce.h"
#include "core/status.h"
#include "core/strategy_traits.h"
#include "worker/strategies/server_parameters.h"

namespace crossover::worker {

absl::Status GroupsStrategy::Start() {
  if (Leads()) RETURN_IF_ERROR(ShareFirstParameters(context_));
  RETURN_IF_ERROR(InGroup(
      context_.communicator->Broadcast(context_.parameters.host(), 0, "initial parameters")));
  at_start_ = Count();
  sums_ = std::make_unique<BucketSums>(context_);
  return absl::OkStatus();
}

void GroupsStrategy::BeginStep(int64_t step) {
  sums_->BeginStep(step);
  if (!Leads()) return;
  context_.servers->BeginStep(step, context_.gradients.host(), context_.parameters.host());
}

absl::Status GroupsStrategy::EndStep() {
  RETURN_IF_ERROR(PushSums());
  {
    ScopedSpan span(context_.timeline, SpanKind::kPull, context_.buckets.buckets.back().id);
    if (Leads()) RETURN_IF_ERROR(context_.servers->Wait());
    RETURN_IF_ERROR(InGroup(sums_->Broadcast(context_.parameters.host())));
  }
  ++steps_done_;
  return absl::OkStatus();
}

absl::Status GroupsStrategy::PushSums() {
  const double clip_norm = context_.job.optimizer().clip_norm();
  for (const Bucket& bucket : context_.buckets.buckets) {
    RETURN_IF_ERROR(InGroup(sums_->Wait(bucket)));
    if (!Leads()) continue;
    {
      ScopedSpan span(context_.timeline, SpanKind::kApply);
      DivideBy(BucketOf(context_.gradients, bucket), context_.communicator->world_size());
    }
    if (clip_norm == 0) context_.servers->PushBucket(bucket.id);
  }
  if (clip_norm > 0 && Leads()) ClipAndPush(context_);
  return absl::OkStatus();
}

absl::Status GroupsStrategy::Finish() {
  sums_.reset();
  // As TakeLastParameters, with the group between the two barriers.
  RETURN_IF_ERROR(context_.barrier("last push"));
  if (Leads()) RETURN_IF_ERROR(context_.servers->Pull(context_.parameters.host()));
  RETURN_IF_ERROR(
      InGroup(context_.communicator->Broadcast(context_.parameters.host(), 0, "last parameters")));
  RETURN_IF_ERROR(context_.barrier("last pull"));
  return Leads() ? context_.servers->Leave() : absl::OkStatus();
}

// Ranks in a communicator's errors count within it.
absl::Status GroupsStrategy::InGroup(const absl::Status& status) const {
  const WorkerGroup group = GroupOf(context_.job, context_.rank);
  return Annotate(status,
                  absl::StrCat("in the group of workers ", group.first, " to ",
                               group.first + group.size - 1, ", whose ranks count from 0: "));
}

StrategyCounters GroupsStrategy::Count() const {
  const allreduce::StreamCounters group = context_.communicator->counters();
  StrategyCounters counters = {.payload_sent_bytes = group.sent_bytes,
                               .payload_received_bytes = group.received_bytes,
                               .synchronisations = steps_done_};
  if (!Leads()) return counters;
  const ps::ClientCounters servers = context_.servers->counters();
  counters.payload_sent_bytes += servers.sent_bytes;
  counters.payload_received_bytes += servers.received_bytes;
  counters.staleness_max = servers.versions.staleness_max;
  counters.mixed_version_steps = servers.versions.mixed_version_steps;
  return counters;
}

StrategyCounters GroupsStrategy::counters() const {
  StrategyCounters counters = Count();
  counters.payload_sent_bytes -= at_start_.payload_sent_bytes;
  counters.payload_received_bytes -= at_start_.payload_received_bytes;
  return counters;
}

}  // namespace crossover::worker
