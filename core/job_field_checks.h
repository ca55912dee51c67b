// Rules of one field of a job, which it is named to by its dotted path; the path must exist.
// Internal to the job target. Pure; errors are Refusals (core/job_internal.h) and name what the
// field holds.
#ifndef CROSSOVER_CORE_JOB_FIELD_CHECKS_H_
#define CROSSOVER_CORE_JOB_FIELD_CHECKS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/job.pb.h"

namespace crossover {

// What the field holds, and whether nobody asked for it.
std::string FoundAt(const proto::Job& job, absl::string_view path);

// "--PATH=VALUE"
std::string Flag(absl::string_view path, int64_t value);

// A whole number from min to max.
absl::Status Whole(const proto::Job& job, absl::string_view path, int64_t min, int64_t max);

// A range of real numbers; `text` is how a user reads it.
struct Range {
  double min;
  double max;
  bool with_min;
  bool with_max;
  absl::string_view text;
};

inline constexpr double kRealMax = 1e6;
inline constexpr Range kMomentum = {0, 1, true, false, "from 0 to below 1"};
inline constexpr Range kFraction = {0, 1, true, true, "0 to 1"};
inline constexpr Range kRate = {0, kRealMax, false, true, "above 0, at most 1e6"};
inline constexpr Range kPenalty = {0, kRealMax, true, true, "0 to 1e6"};
// It is added to fp32 values: below this it would vanish.
inline constexpr Range kEpsilon = {1e-30, 1, true, true, "1e-30 to 1"};

absl::Status Real(const proto::Job& job, absl::string_view path, const Range& range);

// `value` is a size of pieces of fp32 values.
absl::Status PieceBytes(const proto::Job& job, absl::string_view path, int64_t value);

// `value` is 1 to bytes_max bytes of UTF-8 without control characters.
absl::Status Text(const proto::Job& job, absl::string_view path, absl::string_view value,
                  int64_t bytes_max);

}  // namespace crossover

#endif  // CROSSOVER_CORE_JOB_FIELD_CHECKS_H_
