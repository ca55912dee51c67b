#include "os/job_file.h"

#include <algorithm>
#include <vector>

#include "core/emulation.h"
#include "core/status.h"
#include "core/transport_costs.h"
#include "os/environment.h"
#include "os/files.h"
#include "os/profile_file.h"

namespace crossover::os {
namespace {

bool IsFlag(const ParsedFlags& parsed, const std::string& field) {
  const auto& flags = parsed.job_overrides;
  return std::any_of(flags.begin(), flags.end(),
                     [&field](const auto& flag) { return flag.first == field; });
}

// Layers that the job has already are kept, unless a flag names another profile. They are of
// no profile where none is named beside them.
absl::Status FillLayers(const ParsedFlags& parsed, proto::Emulated& emulated) {
  if (!IsFlag(parsed, "emulated.profile") && !emulated.layers().empty()) {
    if (!emulated.has_profile()) emulated.set_profile("");
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const proto::LayerProfile profile,
                   ReadProfile(emulated.profile(), ProfileDirectories()));
  *emulated.mutable_layers() = profile.layers();
  emulated.set_batch(profile.batch());
  return absl::OkStatus();
}

// As layers.
absl::Status FillCosts(const ParsedFlags& parsed, proto::AllReduce& allreduce) {
  if (IsFlag(parsed, "allreduce.fit")) allreduce.clear_costs();
  if (allreduce.fit().empty() || !allreduce.costs().empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> text =
      ReadFile(ResolveUserPath(allreduce.fit()), kSettingsBytesMax);
  RETURN_IF_ERROR(Annotate(text.status(), "allreduce.fit is a file: "));
  ASSIGN_OR_RETURN(const std::vector<proto::TransportCosts> fits, ParseFit(*text, allreduce.fit()));
  allreduce.mutable_costs()->Assign(fits.begin(), fits.end());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<proto::Job> ReadJob(const std::string& path, const ParsedFlags& parsed) {
  FieldPositions positions;
  return ReadJob(path, parsed, positions);
}

absl::StatusOr<proto::Job> ReadJob(const std::string& path, const ParsedFlags& parsed,
                                   FieldPositions& positions) {
  proto::Job job;
  positions.clear();
  if (!path.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(ResolveUserPath(path), kSettingsBytesMax));
    ASSIGN_OR_RETURN(job, ParseJob(text, path, positions));
  }
  RETURN_IF_ERROR(ApplyOverrides(parsed, job));
  for (const auto& [field, value] : parsed.job_overrides) positions.erase(field);
  if (job.data().has_path()) {
    job.mutable_data()->set_path(ResolveUserPath(job.data().path()));
  }
  if (IsEmulated(job)) {
    RETURN_IF_ERROR(AtPosition(FillLayers(parsed, *job.mutable_emulated()), positions));
  }
  if (job.has_allreduce()) {
    RETURN_IF_ERROR(AtPosition(FillCosts(parsed, *job.mutable_allreduce()), positions));
  }
  RETURN_IF_ERROR(AtPosition(ValidateJob(job), positions));
  return WithDefaults(job);
}

}  // namespace crossover::os
