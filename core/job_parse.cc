// ParseText and ParseJob. Protobuf's parser decides what is a job and fills it in; where it
// refuses, its message has the position of the token at which it gave up (often
// the one after the mistake) and no list of what is allowed. So the text is walked
// again up to there, to tell which field is meant, and the error is written anew.
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/job.h"
#include "core/job_internal.h"
#include "core/status.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"

namespace crossover {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::TextFormat;
using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::Tokenizer;

// A job or a profile is a few KiB; what is larger is another file.
constexpr size_t kTextBytesMax = 1 << 20;
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

// Keeps the first error; later ones follow from it. Lines and columns count from 0.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (found_) return;
    found_ = true;
    line_ = line;
    column_ = column;
    message_ = message;
  }

  bool found() const { return found_; }
  int line() const { return line_; }
  int column() const { return column_; }
  const std::string& message() const { return message_; }

 private:
  bool found_ = false;
  int line_ = 0;
  int column_ = 0;
  std::string message_;
};

// Where in the text the walk stands.
struct Place {
  explicit Place(const Descriptor& text_type) : root(text_type) {}

  struct Group {
    Tokenizer::Token name;
    const Descriptor* type = nullptr;
  };
  const Descriptor& root;
  std::vector<Group> groups;              // open braces, outermost first
  std::optional<Tokenizer::Token> field;  // the name of the field being read
  bool after_colon = false;
  bool in_list = false;
  std::optional<Tokenizer::Token> value;  // the last value read of that field
  bool minus = false;                     // before the value
  Tokenizer::Token current;               // the token at which the parser gave up
  bool broken_token = false;              // `current` itself is no token: a string without end, say

  const Descriptor& type() const { return groups.empty() ? root : *groups.back().type; }
  const FieldDescriptor* descriptor() const {
    return field ? type().FindFieldByName(field->text) : nullptr;
  }
  // "optimizer.momentum".
  std::string path() const {
    std::string path;
    for (const Group& group : groups) absl::StrAppend(&path, group.name.text, ".");
    return absl::StrCat(path, field ? field->text : "");
  }
};

void ForgetField(Place& place) {
  place.field.reset();
  place.value.reset();
  place.after_colon = place.in_list = place.minus = false;
}

void TakeSymbol(const Tokenizer::Token& token, Place& place) {
  switch (token.text.front()) {
    case '{':
    case '<': {
      const FieldDescriptor* field = place.descriptor();
      const Descriptor* type = field == nullptr ? nullptr : field->message_type();
      // The parser has stopped before it enters anything else.
      if (type != nullptr) place.groups.push_back({*place.field, type});
      ForgetField(place);
      return;
    }
    case '}':
    case '>':
      if (!place.groups.empty()) place.groups.pop_back();
      ForgetField(place);
      return;
    case ':':
      place.after_colon = true;
      return;
    case '[':
      place.in_list = true;
      return;
    case ']':
      place.in_list = false;
      return;
    case '-':
      place.minus = true;
      return;
    default:  // ',' or ';'
      if (!place.in_list) ForgetField(place);
  }
}

void Take(const Tokenizer::Token& token, Place& place) {
  if (token.type == Tokenizer::TYPE_SYMBOL) return TakeSymbol(token, place);
  const bool value_expected = place.after_colon && (!place.value || place.in_list);
  if (place.field && (value_expected || token.type != Tokenizer::TYPE_IDENTIFIER)) {
    place.value = token;
    return;
  }
  ForgetField(place);
  place.field = token;
}

Place PlaceAt(absl::string_view text, const Descriptor& root, int line, int column) {
  ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  FirstError lexical;
  Tokenizer tokenizer(&input, &lexical);
  // As TextFormat sets it.
  tokenizer.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
  tokenizer.set_allow_f_after_float(true);
  tokenizer.set_require_space_after_number(false);
  Place place(root);
  while (true) {
    tokenizer.Next();
    place.current = tokenizer.current();
    place.broken_token = lexical.found();
    const bool arrived =
        std::pair(place.current.line, place.current.column) >= std::pair(line, column);
    if (arrived || place.broken_token || place.current.type == Tokenizer::TYPE_END) return place;
    Take(place.current, place);
  }
}

// What is wrong, and at which token.
struct Finding {
  Tokenizer::Token at;
  std::string what;
};

std::string Found(const Tokenizer::Token& token) {
  if (token.type == Tokenizer::TYPE_END) return "the end of the file";
  if (token.type == Tokenizer::TYPE_STRING) return Clipped(token.text);
  return absl::StrCat("\"", Clipped(token.text), "\"");
}

std::string PositionText(const Tokenizer::Token& token) {
  return absl::StrCat(token.line + 1, ":", token.column + 1);
}

// Why `token` is no value of a scalar field; empty if it is one.
std::string WhyNoValue(const Tokenizer::Token& token, bool minus, const FieldDescriptor& field) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    if (token.type == Tokenizer::TYPE_STRING) return "";
    return absl::StrCat(Found(token), " is not text in quotes; allowed: \"text\"");
  }
  const std::unique_ptr<google::protobuf::Message> scratch(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(field.containing_type())
          ->New());
  const absl::Status status =
      SetFromText(field, absl::StrCat(minus ? "-" : "", token.text), *scratch);
  if (status.ok()) return "";
  if (token.text == "-") {
    return absl::StrCat("a negative value is not allowed; allowed: ", AllowedValues(field));
  }
  Tokenizer::Token signed_token = token;
  if (minus) signed_token.text = absl::StrCat("-", token.text);
  return absl::StrCat(Found(signed_token), " is ", status.message());
}

// The parser gave up inside a known field.
Finding DiagnoseField(const Place& place, const FieldDescriptor& field,
                      const std::string& parser_message) {
  const std::string name = absl::StrCat(place.path(), ": ");
  if (absl::StrContains(parser_message, "specified multiple times")) {
    return {*place.field, absl::StrCat(name, "given a second time; allowed: once")};
  }
  const bool is_group = field.message_type() != nullptr;
  if (!place.after_colon || is_group) {
    return {*place.field, absl::StrCat(name, "found ", Found(place.current), " after it; allowed: ",
                                       is_group ? "" : absl::StrCat(field.name(), ": VALUE with "),
                                       AllowedValues(field))};
  }
  const bool gave_up_after_value = place.value.has_value();
  const Tokenizer::Token& token = gave_up_after_value ? *place.value : place.current;
  if (token.type == Tokenizer::TYPE_END) {
    return {*place.field,
            absl::StrCat(name, "its value is missing; allowed: ", AllowedValues(field))};
  }
  const std::string why = WhyNoValue(token, place.minus, field);
  if (!why.empty()) return {token, absl::StrCat(name, why)};
  return {place.current, absl::StrCat(name, parser_message)};
}

// Whether the field being read has a value that it may have: what follows is wrong.
bool FieldIsComplete(const Place& place) {
  const FieldDescriptor* field = place.descriptor();
  return field != nullptr && field->message_type() == nullptr && place.value && !place.in_list &&
         WhyNoValue(*place.value, place.minus, *field).empty();
}

// A token that is none: text that does not end, a number such as 1.2.3.
Finding DiagnoseToken(const Tokenizer::Token& token, const std::string& parser_message) {
  const bool is_open = absl::StrContains(parser_message, "cross line boundaries") ||
                       absl::StrContains(parser_message, "end of string");
  if (!is_open) return {token, parser_message};
  return {token,
          "the quote that opens here is not closed in its line; allowed: \"text\"; fix: close it"};
}

Finding Diagnose(Place place, const std::string& parser_message) {
  if (place.broken_token) return DiagnoseToken(place.current, parser_message);
  if (FieldIsComplete(place)) ForgetField(place);
  const std::string allowed =
      absl::StrCat("; allowed: ", absl::StrJoin(FieldNames(place.type()), ", "));
  if (place.field && place.descriptor() == nullptr) {
    return {
        *place.field,
        absl::StrCat("\"", place.type().name(), "\" has no field \"", Clipped(place.field->text),
                     "\"", DidYouMean(place.field->text, FieldNames(place.type())), allowed)};
  }
  if (place.current.type == Tokenizer::TYPE_END && !place.groups.empty() && !place.field) {
    const Tokenizer::Token& group = place.groups.back().name;
    return {place.current, absl::StrCat("the file ends inside \"", group.text, "\", opened at ",
                                        PositionText(group), "; allowed: a closing brace")};
  }
  if (place.field) return DiagnoseField(place, *place.descriptor(), parser_message);
  return {place.current, absl::StrCat("found ", Found(place.current),
                                      " where a field's name should stand", allowed)};
}

// Names the first byte that no text file has, or "".
std::string BinaryByte(absl::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_space = byte == ' ' || (byte >= '\t' && byte <= '\r');
    if (!is_space && (byte < ' ' || byte == 0x7f)) {
      return absl::StrFormat("byte 0x%02x at offset %d", byte, i);
    }
  }
  return "";
}

// The fields of `message` that the text set; `where` and `prefix` go before lines and names.
void AppendPositions(const google::protobuf::Message& message,
                     const TextFormat::ParseInfoTree& tree, const std::string& where,
                     const std::string& prefix, FieldPositions& positions) {
  const auto& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int index = field->is_repeated() ? 0 : -1;
    const TextFormat::ParseLocation at = tree.GetLocation(field, index);
    const std::string path = absl::StrCat(prefix, field->name());
    positions[path] = absl::StrCat(where, at.line + 1, ":", at.column + 1);
    if (field->message_type() == nullptr) continue;
    if (field->is_repeated()) {
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        const TextFormat::ParseLocation item = tree.GetLocation(field, i);
        positions[absl::StrCat(path, "[", i, "]")] =
            absl::StrCat(where, item.line + 1, ":", item.column + 1);
      }
    } else if (const TextFormat::ParseInfoTree* nested = tree.GetTreeForNested(field, index)) {
      AppendPositions(reflection.GetMessage(message, field), *nested, where, path + ".", positions);
    }
  }
}

// "--optimizer.momentum=0.9" as a file has it: "optimizer { momentum: 0.9 }"; "" if it is no field.
std::string InFile(absl::string_view flag) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::StripPrefix(flag, "--"), absl::MaxSplits('=', 1));
  if (parts.size() != 2 || !IsJobField(ToStd(parts[0]))) return "";
  const auto fields = FieldPath(*proto::Job::descriptor(), parts[0]);
  const bool is_text = fields.back()->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  const char* quote = is_text ? "\"" : "";
  std::string text = absl::StrCat(fields.back()->name(), ": ", quote, parts[1], quote);
  for (size_t i = fields.size() - 1; i-- > 0;) {
    text = absl::StrCat(fields[i]->name(), " { ", text, " }");
  }
  return text;
}

// A refusal whose fix is for a file: the flags in it as fields.
std::string FixInFile(absl::string_view message) {
  constexpr absl::string_view kFix = "; fix: ";
  const size_t fix = message.rfind(kFix);
  if (fix == absl::string_view::npos) return std::string(message);
  std::vector<std::string> words = absl::StrSplit(message.substr(fix + kFix.size()), ' ');
  for (std::string& word : words) {
    const bool has_comma = absl::EndsWith(word, ",");
    const std::string field = InFile(absl::StripSuffix(word, ","));
    if (!field.empty()) word = absl::StrCat(field, has_comma ? "," : "");
  }
  return absl::StrCat(message.substr(0, fix), kFix, absl::StrJoin(words, " "));
}

}  // namespace

absl::Status AtPosition(const absl::Status& refusal, const FieldPositions& positions) {
  const absl::string_view message = refusal.message();
  const auto position = positions.find(std::string(message.substr(0, message.find(' '))));
  if (position == positions.end()) return refusal;
  return absl::Status(refusal.code(), absl::StrCat(position->second, ": ", FixInFile(message)));
}

absl::StatusOr<proto::Job> ParseJob(std::string_view text, std::string_view file) {
  FieldPositions positions;
  return ParseJob(text, file, positions);
}

absl::StatusOr<proto::Job> ParseJob(std::string_view text, std::string_view file,
                                    FieldPositions& positions) {
  proto::Job job;
  RETURN_IF_ERROR(ParseText(ToAbsl(text), ToAbsl(file), "a job", job, positions));
  return job;
}

absl::Status ParseText(absl::string_view text, absl::string_view file, absl::string_view what,
                       google::protobuf::Message& message, FieldPositions& positions) {
  if (text.size() > kTextBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": ", text.size(), " bytes is too large for ", what,
                     "; allowed: at most ", kTextBytesMax, " bytes of textproto"));
  }
  if (absl::StartsWith(text, kByteOrderMark)) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":1:1: a UTF-8 byte-order mark stands before the text; allowed: ", what,
                     " as textproto without one; fix: LC_ALL=C sed -i '1s/^...//' ", file));
  }
  if (const std::string binary = BinaryByte(text); !binary.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": ", binary, " is not text; allowed: ", what, " as textproto"));
  }
  ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  FirstError error;
  TextFormat::Parser parser;
  TextFormat::ParseInfoTree tree;
  parser.RecordErrorsTo(&error);
  parser.WriteLocationsTo(&tree);
  if (parser.Parse(&input, &message)) {
    positions.clear();
    AppendPositions(message, tree, absl::StrCat(file, ":"), "", positions);
    return absl::OkStatus();
  }
  const Finding finding = Diagnose(
      PlaceAt(text, *message.GetDescriptor(), error.line(), error.column()), error.message());
  return absl::InvalidArgumentError(
      absl::StrCat(file, ":", PositionText(finding.at), ": ", finding.what));
}

}  // namespace crossover
