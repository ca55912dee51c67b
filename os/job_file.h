// A binary's job: a file, the flags that override its fields, and the check of the
// whole.
#ifndef CROSSOVER_OS_JOB_FILE_H_
#define CROSSOVER_OS_JOB_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/flag_parser.h"
#include "core/job.h"
#include "proto/job.pb.h"

namespace crossover::os {

// `path` "" is the default job. With all fields written out, a relative data.path taken from where
// the user stood, and filled in: an emulated job's layers from its profile, constants from
// allreduce.fit. Blocks for the read. A refusal has the file's line where the file set the field
// that is wrong.
absl::StatusOr<proto::Job> ReadJob(const std::string& path, const ParsedFlags& parsed);
// As above, and says which fields are the file's (and no flag's), and where they stand.
absl::StatusOr<proto::Job> ReadJob(const std::string& path, const ParsedFlags& parsed,
                                   FieldPositions& positions);

}  // namespace crossover::os

#endif  // CROSSOVER_OS_JOB_FILE_H_
