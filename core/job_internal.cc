#include "core/job_internal.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/check.h"
#include "core/job.h"
#include "core/status.h"
#include "google/protobuf/text_format.h"

namespace crossover {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr size_t kShownBytesMax = 80;

absl::Status NotAllowed(absl::string_view what, absl::string_view allowed) {
  return absl::InvalidArgumentError(absl::StrCat(what, "; allowed: ", allowed));
}

// Whether text is digits with an optional sign: then a failed conversion means
// that the number is out of range.
bool LooksWhole(absl::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

template <typename Integer>
absl::Status ParseWhole(absl::string_view text, Integer& value) {
  if (absl::SimpleAtoi(text, &value)) return absl::OkStatus();
  using Limits = std::numeric_limits<Integer>;
  if (!LooksWhole(text)) {
    return NotAllowed("not a whole number",
                      Limits::is_signed ? "a whole number" : "a whole number from 0");
  }
  return NotAllowed("out of range",
                    absl::StrCat("a whole number from ", Limits::min(), " to ", Limits::max()));
}

absl::Status ParseReal(absl::string_view text, double& value) {
  // SimpleAtod reads hexadecimal digits, too.
  if (text.find_first_of("xX") != absl::string_view::npos || !absl::SimpleAtod(text, &value)) {
    return NotAllowed("not a number", "a decimal number");
  }
  if (!std::isfinite(value)) return NotAllowed("not a finite number", "a decimal number");
  return absl::OkStatus();
}

absl::Status ParseBool(absl::string_view text, bool& value) {
  if (text != "true" && text != "false" && !text.empty()) {
    return NotAllowed("not true or false", "true, false");
  }
  value = text != "false";
  return absl::OkStatus();
}

std::vector<std::string> ValueNames(const FieldDescriptor& field) {
  std::vector<std::string> names;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    names.push_back(field.enum_type()->value(i)->name());
  }
  return names;
}

absl::Status ParseEnum(absl::string_view text, const FieldDescriptor& field,
                       const EnumValueDescriptor*& value) {
  value = field.enum_type()->FindValueByName(std::string(text));
  if (value != nullptr) return absl::OkStatus();
  return NotAllowed(absl::StrCat("not one of its values", DidYouMean(text, ValueNames(field))),
                    AllowedValues(field));
}

}  // namespace

std::vector<const FieldDescriptor*> FieldPath(const Descriptor& root, absl::string_view path) {
  std::vector<const FieldDescriptor*> fields;
  const Descriptor* message = &root;
  for (absl::string_view name : absl::StrSplit(path, '.')) {
    const FieldDescriptor* field =
        message == nullptr ? nullptr : message->FindFieldByName(std::string(name));
    if (field == nullptr) return {};
    fields.push_back(field);
    message = field->message_type();  // null for a scalar
  }
  return fields;
}

std::string AllowedValues(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::StrJoin(ValueNames(field), ", ");
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true, false";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "a decimal number";
    case FieldDescriptor::CPPTYPE_STRING:
      return "text";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return absl::StrCat(field.name(), " { ... } with fields ",
                          absl::StrJoin(FieldNames(*field.message_type()), ", "));
    case FieldDescriptor::CPPTYPE_UINT64:
      return "a whole number from 0";
    default:
      return "a whole number";
  }
}

std::vector<std::string> FieldNames(const Descriptor& message) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) names.push_back(message.field(i)->name());
  return names;
}

absl::Status SetFromText(const FieldDescriptor& field, absl::string_view text, Message& message) {
  const Reflection& reflection = *message.GetReflection();
  const bool adds = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      int32_t value = 0;
      RETURN_IF_ERROR(ParseWhole(text, value));
      adds ? reflection.AddInt32(&message, &field, value)
           : reflection.SetInt32(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      int64_t value = 0;
      RETURN_IF_ERROR(ParseWhole(text, value));
      adds ? reflection.AddInt64(&message, &field, value)
           : reflection.SetInt64(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      uint64_t value = 0;
      RETURN_IF_ERROR(ParseWhole(text, value));
      adds ? reflection.AddUInt64(&message, &field, value)
           : reflection.SetUInt64(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      double value = 0;
      RETURN_IF_ERROR(ParseReal(text, value));
      adds ? reflection.AddDouble(&message, &field, value)
           : reflection.SetDouble(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      bool value = false;
      RETURN_IF_ERROR(ParseBool(text, value));
      adds ? reflection.AddBool(&message, &field, value)
           : reflection.SetBool(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const EnumValueDescriptor* value = nullptr;
      RETURN_IF_ERROR(ParseEnum(text, field, value));
      adds ? reflection.AddEnum(&message, &field, value)
           : reflection.SetEnum(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_STRING:
      adds ? reflection.AddString(&message, &field, std::string(text))
           : reflection.SetString(&message, &field, std::string(text));
      return absl::OkStatus();
    default:
      CROSSOVER_CHECK(false, "proto/job.proto uses only the types above for its scalar fields");
      return absl::InternalError("unreachable");
  }
}

std::string ValueText(const Message& message, const FieldDescriptor& field) {
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(message, &field, -1, &text);
  return Clipped(text);
}

std::string DidYouMean(absl::string_view name, const std::vector<std::string>& candidates,
                       absl::string_view prefix) {
  const std::string nearest = NearestName(ToStd(name), candidates);
  if (nearest.empty()) return "";
  return absl::StrCat(" (did you mean \"", prefix, nearest, "\"?)");
}

std::string Clipped(absl::string_view text) {
  if (text.size() <= kShownBytesMax) return std::string(text);
  return absl::StrCat(text.substr(0, kShownBytesMax), "...");
}

}  // namespace crossover
