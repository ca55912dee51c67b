#include "experiments/job_size.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/emulation.h"
#include "core/job.h"
#include "core/status.h"
#include "experiments/machine.h"
#include "worker/data/dataset.h"

namespace crossover::experiments {

absl::StatusOr<JobSize> SizeOfJob(const proto::Job& job, const std::string& worker_binary) {
  JobSize size;
  if (IsEmulated(job)) {
    // All of it is in the job: no data set, no model to build.
    ASSIGN_OR_RETURN(size.plan, MakeStepPlan(job, job.global_batch()));
    size.parameters = EmulatedLayout(ScaledLayers(job.emulated())).length;
    return size;
  }
  ASSIGN_OR_RETURN(const worker::DataSummary data, worker::SummarizeData(job.data()));
  ASSIGN_OR_RETURN(size.plan, MakeStepPlan(job, data.train_samples));
  size.data_bytes = (data.train_samples + data.test_samples) * (data.shape.pixels() + 1);
  const absl::StatusOr<std::string> answer = OutputOf(
      {worker_binary, "--describe", absl::StrCat("--model=", proto::Model::Name_Name(job.model())),
       absl::StrCat("--data.path=", job.data().path()),
       absl::StrCat("--data.format=", proto::Data::Format_Name(job.data().format()))});
  RETURN_IF_ERROR(Annotate(answer.status(), absl::StrCat(worker_binary, " --describe: ")));
  if (!absl::SimpleAtoi(*answer, &size.parameters) || size.parameters < 1) {
    return absl::InternalError(absl::StrCat(worker_binary, " --describe printed \"",
                                            answer->substr(0, 80),
                                            "\"; expected the model's number of parameters"));
  }
  return size;
}

}  // namespace crossover::experiments
