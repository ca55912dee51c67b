#include "core/flag_parser.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <span>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/check.h"
#include "core/job.h"
#include "core/status.h"

namespace crossover {
namespace {

constexpr size_t kNameColumns = 34;
constexpr size_t kColumns = 100;

// What Debian's Abseil takes for a std::string_view.
absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::Status NotAllowed(absl::string_view what, absl::string_view allowed) {
  return absl::InvalidArgumentError(absl::StrCat(what, "; allowed: ", allowed));
}

bool IsBoolField(std::string_view path) {
  for (const FieldHelp& field : JobFields()) {
    if (field.path == path) return field.type == "true|false";
  }
  return false;
}

// Whether it names a group of the job's fields, or something inside one.
bool IsInJobGroup(std::string_view name) {
  const std::string group = absl::StrCat(View(name.substr(0, name.find('.'))), ".");
  for (const FieldHelp& field : JobFields()) {
    if (field.path.starts_with(group)) return true;
  }
  return false;
}

bool AsksForHelp(std::span<const std::string_view> arguments) {
  for (std::string_view argument : arguments) {
    if (argument == "--") return false;
    if (argument == "-h" || argument == "--help") return true;
  }
  return false;
}

// The words of `text` after `line`, in lines of at most kColumns; further ones begin with
// `indent` blanks. A longer word is not cut.
std::string Wrapped(std::string line, size_t indent, const std::string& text) {
  std::string lines;
  bool empty = true;  // no word in the line yet
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!empty && line.size() + 1 + word.size() > kColumns) {
      absl::StrAppend(&lines, line, "\n");
      line.assign(indent, ' ');
      empty = true;
    }
    absl::StrAppend(&line, empty ? "" : " ", word);
    empty = false;
  }
  return absl::StrCat(lines, line, "\n");
}

// A flag of the usage text, what is said of it in a column of its own.
std::string UsageLine(const std::string& flag, const std::string& help,
                      const std::vector<std::string>& facts) {
  std::string line = absl::StrCat("  --", flag);
  line.append(line.size() < kNameColumns ? kNameColumns - line.size() : 2, ' ');
  return Wrapped(line, kNameColumns,
                 facts.empty() ? help : absl::StrCat(help, " (", absl::StrJoin(facts, "; "), ")"));
}

// Fields of the job under the name of their message, in the message's order.
std::string JobFieldsUsage() {
  std::string text =
      "\nFields of the job (each overrides the job's file; proto/job.proto says more)\n";
  const std::map<std::string, std::string> meanings = JobFieldMeanings();
  std::string group;
  for (const FieldHelp& field : JobFields()) {
    const size_t dot = field.path.find('.');
    const std::string its_group = dot == std::string::npos ? "" : field.path.substr(0, dot);
    if (its_group != group) absl::StrAppend(&text, "\n");
    group = its_group;
    // Spaces, so that a long list of values wraps.
    const std::string type = absl::StrReplaceAll(field.type, {{"|", " | "}});
    absl::StrAppend(&text, UsageLine(field.path, meanings.at(field.path),
                                     {type, absl::StrCat("default: ", field.default_value)}));
  }
  return text;
}

}  // namespace

FlagSetter SetText(std::string* target) {
  return [target](std::string_view value) {
    *target = std::string(value);
    return absl::OkStatus();
  };
}

FlagSetter AppendText(std::vector<std::string>* target) {
  return [target](std::string_view value) {
    target->emplace_back(value);
    return absl::OkStatus();
  };
}

FlagSetter SetBool(bool* target) {
  return [target](std::string_view value) {
    if (value != "true" && value != "false") return NotAllowed("not true or false", "true, false");
    *target = value == "true";
    return absl::OkStatus();
  };
}

FlagSetter SetWhole(int64_t* target, int64_t min, int64_t max) {
  return [=](std::string_view value) {
    const std::string allowed = absl::StrCat("a whole number from ", min, " to ", max);
    int64_t number = 0;
    if (!absl::SimpleAtoi(View(value), &number)) return NotAllowed("not a whole number", allowed);
    if (number < min || number > max) return NotAllowed("out of range", allowed);
    *target = number;
    return absl::OkStatus();
  };
}

FlagSetter SetReal(double* target, double min, double max) {
  return [=](std::string_view value) {
    const std::string allowed = absl::StrCat("a number from ", min, " to ", max);
    double number = 0;
    if (!absl::SimpleAtod(View(value), &number)) return NotAllowed("not a number", allowed);
    if (!(number >= min && number <= max)) return NotAllowed("out of range", allowed);
    *target = number;
    return absl::OkStatus();
  };
}

FlagSet::FlagSet(std::string synopsis, std::string purpose)
    : synopsis_(std::move(synopsis)), purpose_(std::move(purpose)), groups_{{"Flags", {}}} {}

void FlagSet::BeginGroup(std::string title) { groups_.push_back({std::move(title), {}}); }

void FlagSet::Add(Flag flag) {
  CROSSOVER_CHECK(!flag.name.empty() && flag.set != nullptr, "a flag has a name and a setter");
  CROSSOVER_CHECK(Find(flag.name) == nullptr && flag.name != "help", "a flag is added once");
  CROSSOVER_CHECK(!job_fields_ || !IsJobField(flag.name), "a flag hides no field of the job");
  groups_.back().flags.push_back(std::move(flag));
}

void FlagSet::AddJobFields() {
  job_fields_ = true;
  for (const std::string& name : Names()) {
    CROSSOVER_CHECK(Find(name) == nullptr || !IsJobField(name), "a flag hides no field of the job");
  }
}

void FlagSet::AddExample(std::string command, std::string what) {
  examples_.emplace_back(std::move(command), std::move(what));
}

const Flag* FlagSet::Find(std::string_view name) const {
  for (const Group& group : groups_) {
    for (const Flag& flag : group.flags) {
      if (flag.name == name) return &flag;
    }
  }
  return nullptr;
}

std::vector<std::string> FlagSet::Names() const {
  std::vector<std::string> names = {"help"};
  for (const Group& group : groups_) {
    for (const Flag& flag : group.flags) names.push_back(flag.name);
  }
  if (!job_fields_) return names;
  for (const FieldHelp& field : JobFields()) names.push_back(field.path);
  return names;
}

// One flag; `next` is the argument after it, or null.
absl::Status FlagSet::Take(std::string_view argument, const char* next, ParsedFlags& parsed) const {
  const size_t equals = argument.find('=');
  const bool has_value = equals != std::string_view::npos;
  const std::string name(argument.substr(2, has_value ? equals - 2 : equals));
  const std::string dashed = absl::StrCat("--", name);
  const Flag* flag = Find(name);
  const bool is_job_field = flag == nullptr && job_fields_ && IsJobField(name);
  if (flag == nullptr && job_fields_ && !is_job_field && IsInJobGroup(name)) {
    proto::Job scratch;
    return OverrideField(name, "", scratch);  // which says what the group has
  }
  if (flag == nullptr && !is_job_field) {
    const std::string nearest = NearestName(name, Names());
    return absl::InvalidArgumentError(
        absl::StrCat(dashed, ": unknown flag",
                     nearest.empty() ? "" : absl::StrCat(" (did you mean --", nearest, "?)"),
                     "; allowed: the flags that --help lists"));
  }
  const bool is_bool = flag != nullptr ? flag->is_bool : IsBoolField(name);
  if (!has_value && !is_bool) {
    const bool next_is_value = next != nullptr && *next != '\0' && *next != '-';
    return absl::InvalidArgumentError(absl::StrCat(
        dashed, ": needs a value after '='; fix: ", dashed, "=", next_is_value ? next : "VALUE"));
  }
  const std::string value(has_value ? argument.substr(equals + 1) : "true");
  if (is_job_field) {
    parsed.job_overrides.emplace_back(name, value);
    return absl::OkStatus();
  }
  return Annotate(flag->set(value), absl::StrCat(dashed, "=", value, ": "));
}

absl::StatusOr<ParsedFlags> FlagSet::Parse(int argc, const char* const* argv) const {
  const std::vector<std::string_view> arguments(argv + std::min(argc, 1), argv + argc);
  ParsedFlags parsed;
  if (AsksForHelp(arguments)) {
    parsed.help = true;
    return parsed;
  }
  std::set<std::string_view> seen;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--") {
      parsed.positional.insert(parsed.positional.end(), arguments.begin() + i + 1, arguments.end());
      break;
    }
    if (argument.size() < 2 || argument.front() != '-') {
      parsed.positional.emplace_back(argument);
      continue;
    }
    if (!argument.starts_with("--")) {
      return absl::InvalidArgumentError(
          absl::StrCat(View(argument), ": flags begin with two dashes; fix: -", View(argument),
                       ", or put -- before arguments that begin with a dash"));
    }
    const std::string_view name = argument.substr(2, argument.find('=') - 2);
    const Flag* flag = Find(name);
    if (!seen.insert(name).second && (flag == nullptr || !flag->repeatable)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", View(name), ": given a second time; allowed: once"));
    }
    const bool is_last = i + 1 == arguments.size();
    RETURN_IF_ERROR(Take(argument, is_last ? nullptr : arguments[i + 1].data(), parsed));
  }
  return parsed;
}

std::string FlagSet::Usage() const {
  std::string text = absl::StrCat(Wrapped("", 0, purpose_), "\nUsage: ", synopsis_, "\n");
  if (!examples_.empty()) absl::StrAppend(&text, "\nExamples\n");
  for (const auto& [command, what] : examples_) {
    absl::StrAppend(&text, "  # ", what, "\n  ", command, "\n");
  }
  for (const Group& group : groups_) {
    if (group.flags.empty()) continue;
    absl::StrAppend(&text, "\n", group.title, "\n");
    for (const Flag& flag : group.flags) {
      std::vector<std::string> facts;
      if (flag.repeatable) facts.push_back("repeatable");
      if (!flag.default_text.empty()) facts.push_back(absl::StrCat("default: ", flag.default_text));
      absl::StrAppend(&text, UsageLine(absl::StrCat(flag.name, flag.is_bool ? "" : "=VALUE"),
                                       flag.help, facts));
    }
  }
  if (job_fields_) absl::StrAppend(&text, JobFieldsUsage());
  return text;
}

absl::Status ApplyOverrides(const ParsedFlags& parsed, proto::Job& job) {
  for (const auto& [path, value] : parsed.job_overrides) {
    RETURN_IF_ERROR(OverrideField(path, value, job));
  }
  const auto given = [&parsed](std::string_view field) {
    return std::any_of(parsed.job_overrides.begin(), parsed.job_overrides.end(),
                       [field](const auto& override) { return override.first == field; });
  };
  if (given("steps") && !given("epochs") && job.steps() > 0) job.set_epochs(0);
  if (given("epochs") && !given("steps") && job.epochs() > 0) job.set_steps(0);
  return absl::OkStatus();
}

}  // namespace crossover
