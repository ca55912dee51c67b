#include "os/job_file.h"

#include "core/job.h"
#include "core/status.h"
#include "os/environment.h"
#include "os/files.h"

namespace crossover::os {

absl::StatusOr<proto::Job> ReadJob(const std::string& path, const ParsedFlags& parsed) {
  proto::Job job;
  if (!path.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(ResolveUserPath(path)));
    ASSIGN_OR_RETURN(job, ParseJob(text, path));
  }
  RETURN_IF_ERROR(ApplyOverrides(parsed, job));
  if (job.data().has_path()) {
    job.mutable_data()->set_path(ResolveUserPath(job.data().path()));
  }
  RETURN_IF_ERROR(ValidateJob(job));
  return WithDefaults(job);
}

}  // namespace crossover::os
