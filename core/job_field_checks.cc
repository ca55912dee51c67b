#include "core/job_field_checks.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/job_internal.h"

namespace crossover {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int64_t kPieceBytesMax = int64_t{64} << 20;

struct Field {
  const Message* message;
  const FieldDescriptor* field;
};

Field FieldAt(const proto::Job& job, absl::string_view path) {
  const auto fields = FieldPath(*proto::Job::descriptor(), path);
  CROSSOVER_CHECK(!fields.empty(), "rules name fields that exist");
  const Message* message = &job;
  for (size_t i = 0; i + 1 < fields.size(); ++i) {
    message = &message->GetReflection()->GetMessage(*message, fields[i]);
  }
  return {message, fields.back()};
}

// Whether bytes are UTF-8 (shortest forms only, no surrogates) without control characters.
bool IsPlainText(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x20 || lead == 0x7f) return false;
    if (lead >= 0x80 && (lead < 0xc2 || lead > 0xf4)) return false;
    const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (i + length > text.size()) return false;
    for (size_t j = 1; j < length; ++j) {
      if ((static_cast<unsigned char>(text[i + j]) & 0xc0) != 0x80) return false;
    }
    const auto second = length > 1 ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
    const bool surrogate = lead == 0xed && second >= 0xa0;
    const bool beyond = lead == 0xf4 && second >= 0x90;
    if (overlong || surrogate || beyond) return false;
    i += length;
  }
  return true;
}

}  // namespace

std::string FoundAt(const proto::Job& job, absl::string_view path) {
  const Field at = FieldAt(job, path);
  const bool is_set = at.message->GetReflection()->HasField(*at.message, at.field);
  return absl::StrCat(ValueText(*at.message, *at.field), is_set ? "" : " (the default)");
}

std::string Flag(absl::string_view path, int64_t value) {
  return absl::StrCat("--", path, "=", value);
}

absl::Status Whole(const proto::Job& job, absl::string_view path, int64_t min, int64_t max) {
  const Field at = FieldAt(job, path);
  const auto& reflection = *at.message->GetReflection();
  const int64_t value = at.field->cpp_type() == FieldDescriptor::CPPTYPE_INT32
                            ? reflection.GetInt32(*at.message, at.field)
                            : reflection.GetInt64(*at.message, at.field);
  if (value >= min && value <= max) return absl::OkStatus();
  return Refusal(path, FoundAt(job, path), absl::StrCat(min, " to ", max),
                 Flag(path, std::clamp(value, min, max)));
}

absl::Status Real(const proto::Job& job, absl::string_view path, const Range& range) {
  const Field at = FieldAt(job, path);
  const double value = at.message->GetReflection()->GetDouble(*at.message, at.field);
  const bool above_min = range.with_min ? value >= range.min : value > range.min;
  const bool below_max = range.with_max ? value <= range.max : value < range.max;
  if (above_min && below_max) return absl::OkStatus();  // not a NaN either
  return Refusal(path, FoundAt(job, path), range.text,
                 absl::StrCat("--", path, "=", at.field->default_value_double()));
}

absl::Status PieceBytes(const proto::Job& job, absl::string_view path, int64_t value) {
  if (value >= 4 && value <= kPieceBytesMax && value % 4 == 0) return absl::OkStatus();
  const int64_t nearest = std::clamp<int64_t>(value / 4 * 4, 4, kPieceBytesMax);
  return Refusal(path, FoundAt(job, path),
                 absl::StrCat("a multiple of 4 (the bytes of a value) from 4 to ", kPieceBytesMax),
                 Flag(path, nearest));
}

absl::Status Text(const proto::Job& job, absl::string_view path, absl::string_view value,
                  int64_t bytes_max) {
  const bool fits = !value.empty() && static_cast<int64_t>(value.size()) <= bytes_max;
  if (fits && IsPlainText(value)) return absl::OkStatus();
  const std::string& standard = FieldAt(job, path).field->default_value_string();
  return Refusal(path, FoundAt(job, path),
                 absl::StrCat("1 to ", bytes_max, " bytes of UTF-8 without control characters"),
                 standard.empty() ? absl::StrCat("leave ", path, " out")
                                  : absl::StrCat("--", path, "=", standard));
}

}  // namespace crossover
