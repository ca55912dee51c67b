// Finding and reading the layer profile that an emulated job names.
#ifndef CROSSOVER_OS_PROFILE_FILE_H_
#define CROSSOVER_OS_PROFILE_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace crossover::os {

// `name` with a / or ending in .textproto is a file, a relative one taken from where the user
// stood; any other names a shipped profile, DIRECTORY/name.textproto in the first of `directories`
// that has it. Blocks for the read. Errors name the field (emulated.profile) or, in a file that was
// read, its line; for an unknown name they list the shipped ones.
absl::StatusOr<proto::LayerProfile> ReadProfile(const std::string& name,
                                                const std::vector<std::string>& directories);

// Where profiles are shipped: experiments/profiles in the directory that the program runs in
// (a source tree, or runfiles), in the source tree that `bazel run` names, and in the runfiles
// beside the program. Not all of them need exist.
std::vector<std::string> ProfileDirectories();

}  // namespace crossover::os

#endif  // CROSSOVER_OS_PROFILE_FILE_H_
