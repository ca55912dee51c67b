// Reading, overriding, checking and printing the job. Pure: takes text and names
// of where it came from, gives a Job that has been checked as a whole, or an error
// (InvalidArgument) that says where, what was found and what is allowed. All
// functions may be called from any thread.
#ifndef CROSSOVER_CORE_JOB_H_
#define CROSSOVER_CORE_JOB_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace crossover {

// Parses textproto of at most 1 MiB; empty text is the default job. Errors: "FILE:LINE:COLUMN:
// what; allowed: ...", for an unknown field the fields of that message and the nearest name, for a
// wrong enum value the enum's values.
absl::StatusOr<proto::Job> ParseJob(std::string_view text, std::string_view file);

// Where a text sets each field: "FILE:LINE:COLUMN" by dotted path, of a list its first item.
using FieldPositions = std::map<std::string, std::string>;
// As above, and says where.
absl::StatusOr<proto::Job> ParseJob(std::string_view text, std::string_view file,
                                    FieldPositions& positions);
// ValidateJob's refusal with the position of its field before it, if there is one.
absl::Status AtPosition(const absl::Status& refusal, const FieldPositions& positions);

// Sets the field named by a dotted path ("optimizer.momentum") from text. A
// repeated field takes a comma-separated list and is replaced. A bool takes
// true, false, and "" for true. Errors name the flag, the value and what is allowed,
// and leave the job as it was.
absl::Status OverrideField(std::string_view path, std::string_view value, proto::Job& job);

// Whether a path names a scalar field of Job.
bool IsJobField(std::string_view path);
// Every scalar field's path with its type, default and allowed values, for --help.
struct FieldHelp {
  std::string path;
  std::string type;
  std::string default_value;
};
std::vector<FieldHelp> JobFields();
// What each of them means: the first sentence of its comment in proto/job.proto, by path. Parses
// that file's descriptor anew (a millisecond).
std::map<std::string, std::string> JobFieldMeanings();
// The closest of `candidates` to a mistyped name, or "" if none is near. A name
// without a dot is also compared with the last word of dotted candidates.
std::string NearestName(std::string_view name, const std::vector<std::string>& candidates);

// Refuses wrong values and impossible combinations: each error names the field,
// what was found and what is allowed. Of several, the first in the field's order.
absl::Status ValidateJob(const proto::Job& job);

// All fields written out, defaults too, and what others imply: deterministic mode
// sets allreduce.algorithm to direct where it was unset, and a learning rate with
// warmup_steps has no warmup_fraction. Valid if `job` is.
proto::Job WithDefaults(const proto::Job& job);
// As textproto that ParseJob reads back.
std::string PrintJob(const proto::Job& job);
// Equal for jobs that train the same thing; `comparison` and `name` do not count. FNV-1a of the
// canonical serialisation with all defaults written out.
uint64_t JobFingerprint(const proto::Job& job);

// Names as users write them.
std::string StrategyName(proto::Strategy::Name name);

// What the job's counts imply.
struct StepPlan {
  int64_t samples_per_rank = 0;  // an epoch's samples of one rank
  int64_t local_batch = 0;  // samples of one rank and step (the last of an epoch may have fewer)
  int64_t steps_per_epoch = 0;
  int64_t total_steps = 0;
};
// `train_samples` in the data set (before or after train_limit). Refuses what
// ValidateJob refuses, data too small for one step, and warm-ups longer than the
// training. The same for every strategy: `single` does what the workers would. Of an emulated
// model an epoch is one global batch, whatever the data set.
absl::StatusOr<StepPlan> MakeStepPlan(const proto::Job& job, int64_t train_samples);

// Whether the strategy (with its parameters) uses servers, and collectives between
// workers. A job's servers are ignored where its strategy uses none.
bool UsesServers(const proto::Job& job);
bool UsesCollectives(const proto::Job& job);
// Worker processes that the job starts: 1 for single, else job.workers().
int WorkerProcesses(const proto::Job& job);

}  // namespace crossover

#endif  // CROSSOVER_CORE_JOB_H_
