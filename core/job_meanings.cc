// What the job's fields mean, from the comments of proto/job.proto: there they are written once.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/check.h"
#include "core/job.h"
#include "core/job_internal.h"
#include "google/protobuf/descriptor.pb.h"
#include "proto/job_comments.h"

namespace crossover {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;

// Up to the first full stop before a capital letter, without it.
std::string FirstSentence(const std::string& comment) {
  std::string text =
      absl::StrJoin(absl::StrSplit(comment, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
  for (size_t stop = text.find(". "); stop != std::string::npos; stop = text.find(". ", stop + 1)) {
    if (!absl::ascii_isupper(static_cast<unsigned char>(text[stop + 2]))) continue;
    text.resize(stop);
    break;
  }
  return std::string(absl::StripSuffix(text, "."));
}

void AppendMeanings(const Descriptor& type, const std::string& prefix,
                    std::map<std::string, std::string>& meanings) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string path = absl::StrCat(prefix, field.name());
    if (field.message_type() != nullptr) {
      // A list of groups has no fields that a path could name.
      if (!field.is_repeated()) AppendMeanings(*field.message_type(), path + ".", meanings);
      continue;
    }
    google::protobuf::SourceLocation location;
    CROSSOVER_CHECK(field.GetSourceLocation(&location), "the file was built with source info");
    meanings[path] = FirstSentence(location.leading_comments);
  }
}

}  // namespace

std::map<std::string, std::string> JobFieldMeanings() {
  const std::string_view bytes = proto::JobFileWithComments();
  google::protobuf::FileDescriptorSet files;
  CROSSOVER_CHECK(files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())),
                  "protoc wrote it at build time");
  DescriptorPool pool;
  for (const auto& file : files.file()) {
    CROSSOVER_CHECK(pool.BuildFile(file) != nullptr, "protoc has accepted it");
  }
  std::map<std::string, std::string> meanings;
  AppendMeanings(*pool.FindMessageTypeByName(proto::Job::descriptor()->full_name()), "", meanings);
  return meanings;
}

}  // namespace crossover
