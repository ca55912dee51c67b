#include "experiments/report/diff_job.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"

namespace crossover::experiments {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

constexpr size_t kListTextMax = 120;

std::string ListText(const Message& message, const FieldDescriptor* field) {
  std::string text = "[";
  const int size = message.GetReflection()->FieldSize(message, field);
  for (int i = 0; i < size; ++i) {
    std::string value;
    TextFormat::PrintFieldValueToString(message, field, i, &value);
    absl::StrAppend(&text, i == 0 ? "" : ", ", value);
  }
  return absl::StrCat(text, "]");
}

std::string ScalarText(const Message& message, const FieldDescriptor* field) {
  if (!message.GetReflection()->HasField(message, field)) return "unset";
  std::string value;
  TextFormat::PrintFieldValueToString(message, field, -1, &value);
  return value;
}

std::string Shortened(std::string text) {
  if (text.size() > kListTextMax) text = absl::StrCat(text.substr(0, kListTextMax), "...");
  return text;
}

void DiffMessages(const Message& a, const Message& b, const std::string& prefix,
                  std::vector<FieldDifference>& differences) {
  const auto* descriptor = a.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    const std::string path = absl::StrCat(prefix, field->name());
    if (field->is_repeated()) {
      const std::string of_a = ListText(a, field), of_b = ListText(b, field);
      if (of_a != of_b) differences.push_back({path, Shortened(of_a), Shortened(of_b)});
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      DiffMessages(a.GetReflection()->GetMessage(a, field), b.GetReflection()->GetMessage(b, field),
                   absl::StrCat(path, "."), differences);
    } else {
      const std::string of_a = ScalarText(a, field), of_b = ScalarText(b, field);
      if (of_a != of_b) differences.push_back({path, of_a, of_b});
    }
  }
}

}  // namespace

std::vector<FieldDifference> DiffJobs(const proto::Job& a, const proto::Job& b) {
  std::vector<FieldDifference> differences;
  DiffMessages(a, b, "", differences);
  return differences;
}

std::string Describe(const FieldDifference& difference) {
  return absl::StrCat(difference.path, ": ", difference.a, ", then ", difference.b);
}

}  // namespace crossover::experiments
