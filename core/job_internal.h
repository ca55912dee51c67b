// What the functions of job.h share: fields by reflection, and rules. Internal to
// the job target. Pure functions; errors are InvalidArgument and say what is allowed.
#ifndef CROSSOVER_CORE_JOB_INTERNAL_H_
#define CROSSOVER_CORE_JOB_INTERNAL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/job.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "proto/job.pb.h"

namespace crossover {

// Debian's Abseil has a string_view of its own, which its string functions take;
// it is used inside the job target, and std::string_view in job.h.
inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ToStd(absl::string_view text) { return {text.data(), text.size()}; }

// The descriptors along a dotted path, outermost first; empty if there is no such path.
std::vector<const google::protobuf::FieldDescriptor*> FieldPath(
    const google::protobuf::Descriptor& root, absl::string_view path);

// What a value of the field may be: "mlp, lenet, resnet18" or "a whole number".
std::string AllowedValues(const google::protobuf::FieldDescriptor& field);

// The names of a message's fields, in its order.
std::vector<std::string> FieldNames(const google::protobuf::Descriptor& message);

// Sets (or, if repeated, adds to) a scalar field of `message` from the text of one
// value. The error does not name the field: "not a number; allowed: a decimal number".
absl::Status SetFromText(const google::protobuf::FieldDescriptor& field, absl::string_view text,
                         google::protobuf::Message& message);

// The value that a singular scalar field has (its default if unset), as text.
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor& field);

// ` (did you mean "model"?)`, or "" if nothing is near.
std::string DidYouMean(absl::string_view name, const std::vector<std::string>& candidates,
                       absl::string_view prefix = "");

// Parses textproto of at most 1 MiB into `message`; errors as ParseJob has them, where `what`
// is "a job" or whatever else the text should be. Says where the text sets each field, and each
// item of a list of messages ("layers[2]").
absl::Status ParseText(absl::string_view text, absl::string_view file, absl::string_view what,
                       google::protobuf::Message& message, FieldPositions& positions);

// Refuses layers that no profile can have; `path` is the list's.
absl::Status CheckLayers(const google::protobuf::RepeatedPtrField<proto::Layer>& layers,
                         absl::string_view path);

// Refuses a job's constants (core/transport_costs.h): impossible ones, several of a transport, none
// of the one that is used.
absl::Status CheckFit(const proto::AllReduce& allreduce);

// The most optimizer steps of a training.
inline constexpr int64_t kStepsMax = 1'000'000'000;

// The rules that need the number of optimizer steps: warm-ups shorter than the training.
absl::Status CheckStepCounts(const proto::Job& job, int64_t total_steps);

// "FIELD is FOUND; allowed: ALLOWED; fix: FIX".
absl::Status Refusal(absl::string_view field, absl::string_view found, absl::string_view allowed,
                     absl::string_view fix);

// At most 80 bytes of what a user wrote, for use in a message.
std::string Clipped(absl::string_view text);

}  // namespace crossover

#endif  // CROSSOVER_CORE_JOB_INTERNAL_H_
