// What a comparison is, so that one that was interrupted can go on where it stopped, and
// only as what it was. DIR/comparison.json holds it from before the first run. Pure.
#ifndef CROSSOVER_EXPERIMENTS_RESUME_H_
#define CROSSOVER_EXPERIMENTS_RESUME_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/results/result.h"
#include "experiments/run_plan.h"
#include "experiments/tuning.h"
#include "proto/job.pb.h"

namespace crossover::experiments {

struct ComparisonRecord {
  int64_t format = 1;
  std::string start_time;                       // ISO 8601
  std::string rerun_command;                    // for the reports
  std::vector<std::string> arguments;           // of the command line, without the program
  std::string working_directory;                // that relative paths among them are taken from
  std::vector<std::string> jobs;                // textproto, all fields written out
  std::map<std::string, std::string> programs;  // "worker" -> fingerprint of its file
  Environment environment;
};

std::string PrintRecord(const ComparisonRecord& record);
absl::StatusOr<ComparisonRecord> ParseRecord(std::string_view json);
// The record's jobs, parsed and validated.
absl::StatusOr<std::vector<proto::Job>> JobsOf(const ComparisonRecord& record);

// 16 hexadecimal digits of the bytes (FNV-1a).
std::string FingerprintOf(std::string_view bytes);

// Where a comparison would go on differs from where it began.
struct PlaceDifferences {
  std::vector<std::string> refused;  // figures would not be of one comparison: programs, machine,
                                     // versions
  std::vector<std::string> noted;    // harmless: a commit that left the programs as they were, ...
};
PlaceDifferences ComparePlaces(const ComparisonRecord& then, const ComparisonRecord& now);

// Refuses jobs that are not the record's; names the fields.
absl::Status CheckJobs(const std::vector<proto::Job>& recorded,
                       const std::vector<proto::Job>& given);

// What a folder holds of the planned runs.
struct FolderState {
  std::vector<RunResult> finished;    // in the order of the file
  std::vector<RunResult> failed;      // to be run again
  std::vector<TrialRecord> trials;    // that have ended well
  std::string results;                // of results.jsonl, what stays
  std::string tuning;                 // of tuning.jsonl, what stays
  std::string removed;                // lines that do not stay, for the record
  std::vector<std::string> messages;  // for the user: what was cut short
};

// Checks every line against the plan: of another job, or of one run twice, it
// is refused. A last line that was cut short is left out.
absl::StatusOr<FolderState> ReadFolderState(std::string_view results_jsonl,
                                            std::string_view tuning_jsonl,
                                            const std::vector<PlannedRun>& runs,
                                            const std::vector<PlannedTrial>& trials);

// Whether the result is of the run.
bool IsOf(const RunResult& result, const PlannedRun& run);

// The runs of the comparison under this run's job.
int64_t RunsUnderJobOf(const PlannedRun& run, const std::vector<PlannedRun>& runs);

// Refuses a network unlike the one that the finished runs used.
absl::Status CheckNetwork(const std::vector<RunResult>& finished, const Network& now);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESUME_H_
