#include "worker/strategies/elastic_strategy.h"

#include <span>

#include "absl/strings/str_cat.h"
#include "core/elastic_averaging.h"
#include "core/gradient_norm.h"
#include "core/status.h"
#include "worker/strategies/server_parameters.h"

namespace crossover::worker {

ElasticStrategy::ElasticStrategy(const StrategyContext& context)
    : context_(context),
      inner_(context.job.optimizer(), static_cast<int64_t>(context.parameters.length)),
      centre_(context.parameters.length) {}

absl::Status ElasticStrategy::Start() {
  RETURN_IF_ERROR(ShareFirstParameters(context_));
  at_start_ = context_.servers->counters();
  return absl::OkStatus();
}

absl::Status ElasticStrategy::EndStep() {
  {
    ScopedSpan span(context_.timeline, SpanKind::kApply);
    ClipToNorm(context_.job.optimizer().clip_norm(), context_.gradients.host());
    inner_.Apply(0, context_.parameters.host(), context_.gradients.host(),
                 context_.learning_rate.At(step_), step_);
  }
  exchanged_ = false;
  return ExchangesAfter(context_.job.local_sgd().local_steps(), step_) ? Exchange()
                                                                       : absl::OkStatus();
}

absl::Status ElasticStrategy::Exchange() {
  const std::span<float> parameters = context_.parameters.host();
  {
    ScopedSpan span(context_.timeline, SpanKind::kPull, context_.buckets.buckets.back().id);
    context_.servers->BeginStep(exchanges_, parameters, centre_);
    for (const Bucket& bucket : context_.buckets.buckets) context_.servers->PushBucket(bucket.id);
    RETURN_IF_ERROR(Annotate(context_.servers->Wait(),
                             absl::StrCat("exchange ", exchanges_, " after step ", step_, ": ")));
  }
  ScopedSpan span(context_.timeline, SpanKind::kApply);
  MoveWorker(ElasticRate(context_.job), parameters, centre_);
  exchanged_ = true;
  ++exchanges_;
  return absl::OkStatus();
}

absl::Status ElasticStrategy::Finish() {
  if (!exchanged_) RETURN_IF_ERROR(Exchange());
  RETURN_IF_ERROR(TakeLastParameters(context_));
  return context_.servers->Leave();
}

StrategyCounters ElasticStrategy::counters() const {
  const ps::ClientCounters now = context_.servers->counters();
  return {.payload_sent_bytes = now.sent_bytes - at_start_.sent_bytes,
          .payload_received_bytes = now.received_bytes - at_start_.received_bytes,
          .synchronisations = exchanges_,
          .late_pushes = 0,
          .staleness_max = now.versions.staleness_max,
          .mixed_version_steps = now.versions.mixed_version_steps};
}

}  // namespace crossover::worker
