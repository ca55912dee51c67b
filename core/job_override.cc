// Fields by dotted path: overriding them from flags and listing them for --help.
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/job.h"
#include "core/job_internal.h"
#include "core/status.h"

namespace crossover {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool IsScalar(const FieldDescriptor& field) { return field.message_type() == nullptr; }

// A list of groups (emulated.layers) is for files: a flag could not say which entry it means.
bool InRepeatedGroup(const std::vector<const FieldDescriptor*>& path) {
  for (const FieldDescriptor* field : path) {
    if (field->is_repeated() && !IsScalar(*field)) return true;
  }
  return false;
}

std::string TypeText(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::StrCat(field.is_repeated() ? "list of " : "",
                          absl::StrJoin(absl::StrSplit(AllowedValues(field), ", "), "|"));
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true|false";
    default:
      return AllowedValues(field);
  }
}

void AppendFields(const Message& message, const std::string& prefix,
                  std::vector<FieldHelp>& fields) {
  const Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string path = absl::StrCat(prefix, field.name());
    if (InRepeatedGroup({&field})) continue;
    if (!IsScalar(field)) {
      AppendFields(message.GetReflection()->GetMessage(message, &field), path + ".", fields);
    } else if (!field.has_default_value()) {
      fields.push_back({path, TypeText(field), "unset"});
    } else {
      const bool text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
      fields.push_back(
          {path, TypeText(field), text ? field.default_value_string() : ValueText(message, field)});
    }
  }
}

std::vector<std::string> JobPaths() {
  std::vector<std::string> paths;
  for (const FieldHelp& field : JobFields()) paths.push_back(field.path);
  return paths;
}

// The flags of a group's fields: "--data.format, --data.path".
std::string GroupFlags(const FieldDescriptor& group) {
  std::vector<std::string> flags = FieldNames(*group.message_type());
  for (std::string& flag : flags) flag = absl::StrCat("--", group.name(), ".", flag);
  return absl::StrJoin(flags, ", ");
}

// "--optimizer.nme: the job has no such field ...".
absl::Status NoSuchField(absl::string_view path) {
  const std::string flag = absl::StrCat("--", Clipped(path), ": ");
  const std::string hint = DidYouMean(path, JobPaths(), "--");
  const auto group = FieldPath(*proto::Job::descriptor(), path.substr(0, path.find('.')));
  if (group.empty() || IsScalar(*group.front())) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, "the job has no such field", hint,
                     "; allowed: ", absl::StrJoin(FieldNames(*proto::Job::descriptor()), ", ")));
  }
  return absl::InvalidArgumentError(absl::StrCat(flag, group.front()->name(), " has no such field",
                                                 hint, "; allowed: ", GroupFlags(*group.front())));
}

}  // namespace

bool IsJobField(std::string_view path) {
  const auto fields = FieldPath(*proto::Job::descriptor(), ToAbsl(path));
  return !fields.empty() && IsScalar(*fields.back()) && !InRepeatedGroup(fields);
}

std::vector<FieldHelp> JobFields() {
  std::vector<FieldHelp> fields;
  AppendFields(proto::Job::default_instance(), "", fields);
  return fields;
}

absl::Status OverrideField(std::string_view path_text, std::string_view value_text,
                           proto::Job& job) {
  const absl::string_view path = ToAbsl(path_text);
  const absl::string_view value = ToAbsl(value_text);
  const auto fields = FieldPath(*proto::Job::descriptor(), path);
  if (fields.empty()) return NoSuchField(path);
  const FieldDescriptor& field = *fields.back();
  if (InRepeatedGroup(fields)) return NoSuchField(path);
  if (!IsScalar(field)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", path, ": a group of fields has no value of its own; allowed: ", GroupFlags(field)));
  }
  // Set in a copy: a list that fails half way must not be half replaced.
  proto::Job changed = job;
  Message* message = &changed;
  for (size_t i = 0; i + 1 < fields.size(); ++i) {
    message = message->GetReflection()->MutableMessage(message, fields[i]);
  }
  if (field.is_repeated()) message->GetReflection()->ClearField(message, &field);
  std::vector<std::string> values = {std::string(value)};
  if (field.is_repeated()) values = absl::StrSplit(value, ',');
  if (field.is_repeated() && value.empty()) values.clear();
  for (const std::string& one : values) {
    if (field.is_repeated() && absl::StripAsciiWhitespace(one).empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", path, "=", Clipped(value),
                       ": an item of the list is empty; allowed: values with one comma between "
                       "them, each of ",
                       AllowedValues(field)));
    }
    RETURN_IF_ERROR(Annotate(
        SetFromText(field, field.is_repeated() ? absl::StripAsciiWhitespace(one) : one, *message),
        absl::StrCat("--", path, "=", Clipped(one), ": ")));
  }
  job = std::move(changed);
  return absl::OkStatus();
}

}  // namespace crossover
