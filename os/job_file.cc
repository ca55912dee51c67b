#include "os/job_file.h"

#include "core/status.h"
#include "os/environment.h"
#include "os/files.h"

namespace crossover::os {

absl::StatusOr<proto::Job> ReadJob(const std::string& path, const ParsedFlags& parsed) {
  FieldPositions positions;
  return ReadJob(path, parsed, positions);
}

absl::StatusOr<proto::Job> ReadJob(const std::string& path, const ParsedFlags& parsed,
                                   FieldPositions& positions) {
  proto::Job job;
  positions.clear();
  if (!path.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(ResolveUserPath(path)));
    ASSIGN_OR_RETURN(job, ParseJob(text, path, positions));
  }
  RETURN_IF_ERROR(ApplyOverrides(parsed, job));
  for (const auto& [field, value] : parsed.job_overrides) positions.erase(field);
  if (job.data().has_path()) {
    job.mutable_data()->set_path(ResolveUserPath(job.data().path()));
  }
  RETURN_IF_ERROR(AtPosition(ValidateJob(job), positions));
  return WithDefaults(job);
}

}  // namespace crossover::os
