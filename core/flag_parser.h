// The command line of the binaries: each declares its own flags, and may let
// every field of the job be a flag too (`--optimizer.momentum=0.8`). No globals:
// a FlagSet knows only what it was told, and writes only where it was told to.
//
// Grammar: `--name=value`; `--name` alone for a flag that is true or false;
// `-h` and `--help`; `--` ends the flags; anything else is a positional argument.
// `--name value` is refused (it could be a flag and an argument), as are unknown
// flags, with the nearest known one, and a flag given twice, unless it is
// repeatable. Errors are InvalidArgument and name the flag, what was found and
// what is allowed. Not thread-safe; nothing blocks.
#ifndef CROSSOVER_CORE_FLAG_PARSER_H_
#define CROSSOVER_CORE_FLAG_PARSER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace crossover {

// Takes a flag's value, or says why not: "not a number; allowed: a number".
using FlagSetter = std::function<absl::Status(std::string_view)>;

// Setters of common kinds. The target is borrowed and outlives every Parse.
FlagSetter SetText(std::string* target);
FlagSetter AppendText(std::vector<std::string>* target);  // for a repeatable flag
FlagSetter SetBool(bool* target);
FlagSetter SetWhole(int64_t* target, int64_t min, int64_t max);
FlagSetter SetReal(double* target, double min, double max);

struct Flag {
  std::string name;          // without dashes
  std::string help;          // one line
  std::string default_text;  // for the usage text; "" shows none
  FlagSetter set;
  bool is_bool = false;  // `--name` alone sets "true"
  bool repeatable = false;
};

struct ParsedFlags {
  // Help was asked for: nothing was set, nothing else was looked at.
  bool help = false;
  // Fields of the job, path and value, in the order in which they were given.
  std::vector<std::pair<std::string, std::string>> job_overrides;
  std::vector<std::string> positional;
};

class FlagSet {
 public:
  // synopsis: "compare [flags] [JOB.textproto]"; purpose: a sentence or two.
  FlagSet(std::string synopsis, std::string purpose);

  // Begins a group in the usage text: flags added from here on stand under `title`.
  void BeginGroup(std::string title);
  // Two flags of one name, or one named as a field of the job, are a bug (CHECK-fails).
  void Add(Flag flag);
  // Fields of the job are flags too; Parse collects them.
  void AddJobFields();
  void AddExample(std::string command, std::string what);

  // argv[0], the program's name, is skipped.
  absl::StatusOr<ParsedFlags> Parse(int argc, const char* const* argv) const;
  // Synopsis, purpose, examples, flags by group, fields of the job by message.
  std::string Usage() const;

 private:
  struct Group {
    std::string title;
    std::vector<Flag> flags;
  };
  const Flag* Find(std::string_view name) const;
  std::vector<std::string> Names() const;
  absl::Status Take(std::string_view argument, const char* next, ParsedFlags& parsed) const;

  std::string synopsis_;
  std::string purpose_;
  std::vector<Group> groups_;
  std::vector<std::pair<std::string, std::string>> examples_;
  bool job_fields_ = false;
};

// Applies the collected overrides to `job`, in order. A training has a length in steps or in
// epochs: a flag that sets one of the two clears the other, unless both are given.
absl::Status ApplyOverrides(const ParsedFlags& parsed, proto::Job& job);

}  // namespace crossover

#endif  // CROSSOVER_CORE_FLAG_PARSER_H_
