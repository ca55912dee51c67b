// Reading a layer profile, the timing of a model that is emulated. Pure: takes text and the
// name of its file, gives a profile whose layers have been checked.
#ifndef CROSSOVER_CORE_LAYER_PROFILE_H_
#define CROSSOVER_CORE_LAYER_PROFILE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace crossover {

// Parses textproto of at most 1 MiB. Errors (InvalidArgument): "FILE:LINE:COLUMN: what;
// allowed: ...".
absl::StatusOr<proto::LayerProfile> ParseProfile(std::string_view text, std::string_view file);

}  // namespace crossover

#endif  // CROSSOVER_CORE_LAYER_PROFILE_H_
