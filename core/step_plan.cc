// MakeStepPlan: counts of samples and steps.
#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "core/emulation.h"
#include "core/job.h"
#include "core/job_internal.h"
#include "core/sampler.h"
#include "core/status.h"

namespace crossover {

absl::StatusOr<StepPlan> MakeStepPlan(const proto::Job& job, int64_t train_samples) {
  RETURN_IF_ERROR(ValidateJob(job));
  const int64_t limit = job.data().train_limit();
  int64_t samples = limit > 0 ? std::min(limit, train_samples) : train_samples;
  // An emulated model has blank samples, as many as a step takes: every step is full.
  if (IsEmulated(job)) samples = job.global_batch();
  if (samples <= 0) {
    return Refusal("data.path",
                   absl::StrCat(job.data().path(), " with ", samples, " training samples"),
                   "a data set of at least 1 training sample", "--data.path=DIRECTORY");
  }
  StepPlan plan;
  plan.samples_per_rank = SamplesPerRank(samples, job.workers(), job.drop_last());
  plan.local_batch = job.global_batch() / job.workers();
  plan.steps_per_epoch = plan.samples_per_rank / plan.local_batch;
  if (!job.drop_last() && plan.samples_per_rank % plan.local_batch > 0) ++plan.steps_per_epoch;
  if (plan.steps_per_epoch == 0) {
    return Refusal(
        "global_batch",
        absl::StrCat(job.global_batch(), ", which ", samples,
                     " training samples do not fill once, and drop_last drops what is not filled"),
        "a batch of at most the samples", "a smaller --global_batch, or --drop_last=false");
  }
  if (job.steps() == 0 && plan.steps_per_epoch > kStepsMax / job.epochs()) {
    return Refusal("epochs",
                   absl::StrCat(job.epochs(), " of ", plan.steps_per_epoch, " steps each"),
                   absl::StrCat("at most ", kStepsMax, " steps in all"),
                   "fewer --epochs, or a larger --global_batch");
  }
  plan.total_steps = job.steps() > 0 ? job.steps() : job.epochs() * plan.steps_per_epoch;
  RETURN_IF_ERROR(CheckStepCounts(job, plan.total_steps));
  return plan;
}

}  // namespace crossover
