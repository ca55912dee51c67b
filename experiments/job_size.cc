#include "experiments/job_size.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/emulation.h"
#include "core/job.h"
#include "core/status.h"
#include "experiments/launch/child_process.h"
#include "os/files.h"
#include "worker/data/dataset.h"

namespace crossover::experiments {
namespace {

constexpr size_t kErrorBytesMax = 1000;

struct CloseFile {
  void operator()(FILE* file) const { fclose(file); }
};
using TemporaryFile = std::unique_ptr<FILE, CloseFile>;

// Deleted already; /proc has a name for it while it is open.
std::string PathOf(const TemporaryFile& file) {
  return absl::StrCat("/proc/self/fd/", fileno(file.get()));
}

// What a program prints, or, where it fails, the end of what it says on standard error. A signal
// takes it down.
absl::StatusOr<std::string> AnswerOf(const std::vector<std::string>& command,
                                     SignalWaiter& signals) {
  const TemporaryFile output(tmpfile()), errors(tmpfile());
  if (output == nullptr || errors == nullptr) {
    return absl::ErrnoToStatus(errno, "cannot make a temporary file");
  }
  ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Start({.arguments = command,
                                                            .log_path = PathOf(errors),
                                                            .output_fd = fileno(output.get())}));
  std::optional<ExitStatus> ended;
  while (!(ended = child.Poll())) {
    signals.Wait(0.1);
    if (signals.ended_by() != 0) {
      return absl::CancelledError(absl::StrCat("interrupted (",
                                               signals.ended_by() == SIGINT ? "SIGINT" : "SIGTERM",
                                               ") before the first run"));
    }
  }
  ASSIGN_OR_RETURN(const std::string text, os::ReadFile(PathOf(ended->ok() ? output : errors)));
  const absl::string_view said = absl::StripAsciiWhitespace(text);
  if (ended->ok()) return std::string(said);
  const size_t from = said.size() - std::min(said.size(), kErrorBytesMax);
  return absl::InternalError(said.empty() ? ended->Describe() : std::string(said.substr(from)));
}

}  // namespace

absl::StatusOr<JobSize> SizeOfJob(const proto::Job& job, const std::string& worker_binary,
                                  SignalWaiter& signals) {
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
  const absl::StatusOr<std::string> answer = AnswerOf(
      {worker_binary, "--describe", absl::StrCat("--model=", proto::Model::Name_Name(job.model())),
       absl::StrCat("--data.path=", job.data().path()),
       absl::StrCat("--data.format=", proto::Data::Format_Name(job.data().format()))},
      signals);
  if (absl::IsCancelled(answer.status())) return answer.status();
  RETURN_IF_ERROR(Annotate(answer.status(), absl::StrCat(worker_binary, " --describe: ")));
  if (!absl::SimpleAtoi(*answer, &size.parameters) || size.parameters < 1) {
    return absl::InternalError(absl::StrCat(worker_binary, " --describe printed \"",
                                            answer->substr(0, 80),
                                            "\"; expected the model's number of parameters"));
  }
  return size;
}

}  // namespace crossover::experiments
