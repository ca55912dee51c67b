#include "experiments/resume.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/fnv1a.h"
#include "core/job.h"
#include "core/status.h"
#include "experiments/report/diff_job.h"
#include "experiments/results/json_archive.h"
#include "experiments/results/result_fields.h"

namespace crossover::experiments {

template <typename Archive>
void Fields(Archive& a, ComparisonRecord& v) {
  a("format", v.format);
  a("start_time", v.start_time);
  a("rerun_command", v.rerun_command);
  a("arguments", v.arguments);
  a("working_directory", v.working_directory);
  a("jobs", v.jobs);
  a("programs", v.programs);
  a("environment", v.environment);
}

namespace {

constexpr int64_t kFormat = 1;

std::string OrUnknown(const std::string& text) { return text.empty() ? "unknown" : text; }

// Takes the next line, without its newline, off `text`; `whole` says whether it had one.
std::string_view TakeLine(std::string_view& text, bool& whole) {
  const size_t end = text.find('\n');
  whole = end != std::string_view::npos;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(whole ? end + 1 : text.size());
  return line;
}

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// A file's lines that are not blank, but for what a write that was cut short left at the end.
struct WholeLines {
  std::vector<std::string_view> lines;
  std::vector<int> numbers;  // of each, from 1
  std::string_view text;     // that they stand in
  std::string_view cut;
};
WholeLines SplitLines(std::string_view text) {
  WholeLines whole;
  whole.text = text;
  for (int number = 1; !text.empty(); ++number) {
    bool has_newline = false;
    const std::string_view line = TakeLine(text, has_newline);
    if (IsBlank(line)) continue;
    if (text.empty() && (!has_newline || !Json::accept(line))) {
      whole.cut = line;
      whole.text = whole.text.substr(0, line.data() - whole.text.data());
    } else {
      whole.lines.push_back(line);
      whole.numbers.push_back(number);
    }
  }
  return whole;
}

std::string RunText(const RunResult& result) {
  return absl::StrCat(result.strategy, " ", result.model, " r", result.repetition + 1);
}

// The planned run as it is made once its strategy's search has chosen.
std::string FingerprintUnder(const PlannedRun& run, const std::optional<Tuning>& tuning) {
  proto::Job job = run.job;
  if (tuning.has_value()) job.mutable_learning_rate()->set_base(tuning->chosen_learning_rate);
  return absl::StrFormat("%016x", JobFingerprint(job));
}

void AddLine(std::string_view line, std::string& text) {
  text.append(line);
  text.push_back('\n');
}

absl::Status TakeResult(const RunResult& result, std::string_view line, int number,
                        const std::vector<PlannedRun>& runs, FolderState& state) {
  const auto planned = std::find_if(runs.begin(), runs.end(),
                                    [&](const PlannedRun& run) { return IsOf(result, run); });
  if (planned == runs.end() ||
      result.job_fingerprint != FingerprintUnder(*planned, result.tuning)) {
    return absl::FailedPreconditionError(
        absl::StrCat("results.jsonl line ", number, ": ", RunText(result),
                     planned == runs.end() ? " is no run of this comparison"
                                           : " trained another job than this comparison's"));
  }
  const auto same = [&](const RunResult& other) { return IsOf(other, *planned); };
  if (std::any_of(state.finished.begin(), state.finished.end(), same)) {
    return absl::FailedPreconditionError(
        absl::StrCat("results.jsonl line ", number, ": ", RunText(result), " is there already"));
  }
  if (result.ok()) {
    state.finished.push_back(result);
    AddLine(line, state.results);
  } else {
    state.failed.push_back(result);
    AddLine(line, state.removed);
  }
  return absl::OkStatus();
}

absl::Status TakeTrial(const TrialRecord& record, std::string_view line, int number,
                       const std::vector<PlannedTrial>& trials, FolderState& state) {
  const bool planned = std::any_of(trials.begin(), trials.end(),
                                   [&](const PlannedTrial& trial) { return IsOf(record, trial); });
  if (!planned) {
    return absl::FailedPreconditionError(
        absl::StrCat("tuning.jsonl line ", number, ": ", record.strategy, " at ",
                     record.trial.learning_rate, " is no trial of this comparison"));
  }
  if (record.ok()) {
    state.trials.push_back(record);
    AddLine(line, state.tuning);
  } else {
    AddLine(line, state.removed);
  }
  return absl::OkStatus();
}

// `all_there`: whether every planned run has a line without it.
void TakeCut(std::string_view cut, const char* file, bool all_there, FolderState& state) {
  if (cut.empty()) return;
  AddLine(cut, state.removed);
  state.messages.push_back(absl::StrCat(
      "the last line of ", file, " was cut short after ", cut.size(), " bytes; it is left out",
      all_there ? ": every run has a whole one" : ", and its run is made again"));
}

}  // namespace

std::string PrintRecord(const ComparisonRecord& record) { return WriteJson(record) + "\n"; }

absl::StatusOr<ComparisonRecord> ParseRecord(std::string_view json) {
  ComparisonRecord record;
  const std::string error = ReadJson(json, record);
  if (!error.empty()) return absl::InvalidArgumentError(absl::StrCat("comparison.json: ", error));
  if (record.format != kFormat) {
    return absl::InvalidArgumentError(
        absl::StrCat("comparison.json: format ", record.format, "; this version reads ", kFormat));
  }
  return record;
}

absl::StatusOr<std::vector<proto::Job>> JobsOf(const ComparisonRecord& record) {
  std::vector<proto::Job> jobs;
  for (const std::string& text : record.jobs) {
    ASSIGN_OR_RETURN(jobs.emplace_back(), ParseJob(text, "comparison.json"));
    RETURN_IF_ERROR(ValidateJob(jobs.back()));
  }
  if (jobs.empty()) return absl::InvalidArgumentError("comparison.json: it names no job");
  return jobs;
}

std::string FingerprintOf(std::string_view bytes) {
  return absl::StrFormat("%016x", Fnv1a(std::as_bytes(std::span(bytes))));
}

PlaceDifferences ComparePlaces(const ComparisonRecord& then, const ComparisonRecord& now) {
  PlaceDifferences differences;
  const Environment& a = then.environment;
  const Environment& b = now.environment;
  const auto compare = [](std::vector<std::string>& list, const std::string& what,
                          const std::string& was, const std::string& is) {
    if (was == is) return;
    list.push_back(absl::StrCat(what, " was ", OrUnknown(was), ", is ", OrUnknown(is)));
  };
  std::vector<std::string>& refused = differences.refused;
  std::vector<std::string>& noted = differences.noted;
  for (const auto& [name, fingerprint] : then.programs) {
    const auto found = now.programs.find(name);
    if (found == now.programs.end() || found->second != fingerprint) {
      refused.push_back(absl::StrCat("the ", name, " program is another build"));
    }
  }
  compare(refused, "the host", a.hostname, b.hostname);
  compare(refused, "the processor", a.cpu_model, b.cpu_model);
  compare(refused, "the number of usable cores", absl::StrCat(a.cores), absl::StrCat(b.cores));
  for (const auto& [name, version] : a.versions) {
    const auto found = b.versions.find(name);
    compare(refused, name, version, found == b.versions.end() ? "" : found->second);
  }
  for (const auto& [name, version] : b.versions) {
    if (!a.versions.contains(name)) compare(refused, name, "", version);
  }
  compare(noted, "the kernel", a.kernel, b.kernel);
  compare(noted, "the commit", a.git_commit, b.git_commit);
  compare(noted, "the memory", absl::StrCat(a.memory_bytes), absl::StrCat(b.memory_bytes));
  return differences;
}

absl::Status CheckJobs(const std::vector<proto::Job>& recorded,
                       const std::vector<proto::Job>& given) {
  std::vector<std::string> texts;
  if (recorded.size() != given.size()) {
    texts.push_back(absl::StrCat(recorded.size(), " jobs, then ", given.size()));
  }
  for (size_t i = 0; i < std::min(recorded.size(), given.size()); ++i) {
    for (const FieldDifference& field : DiffJobs(recorded[i], given[i])) {
      texts.push_back(Describe(field));
    }
  }
  if (texts.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the job is not the one that the folder's comparison began with (",
      absl::StrJoin(texts, "; "),
      "); fix: leave the job out (the folder has it), or start anew with another --out"));
}

bool IsOf(const RunResult& result, const PlannedRun& run) {
  return result.job_name == run.job.name() &&
         result.model == proto::Model::Name_Name(run.job.model()) &&
         result.strategy == StrategyName(run.job.strategy()) && result.repetition == run.repetition;
}

int64_t RunsUnderJobOf(const PlannedRun& run, const std::vector<PlannedRun>& runs) {
  return std::count_if(runs.begin(), runs.end(), [&](const PlannedRun& other) {
    return other.job.name() == run.job.name() && other.job.model() == run.job.model();
  });
}

absl::StatusOr<FolderState> ReadFolderState(std::string_view results_jsonl,
                                            std::string_view tuning_jsonl,
                                            const std::vector<PlannedRun>& runs,
                                            const std::vector<PlannedTrial>& trials) {
  FolderState state;
  const WholeLines results = SplitLines(results_jsonl);
  const absl::StatusOr<std::vector<RunResult>> parsed = ParseResults(results.text);
  RETURN_IF_ERROR(Annotate(parsed.status(), "results.jsonl: "));
  for (size_t i = 0; i < results.lines.size(); ++i) {
    RETURN_IF_ERROR(TakeResult((*parsed)[i], results.lines[i], results.numbers[i], runs, state));
  }
  TakeCut(results.cut, "results.jsonl", state.finished.size() == runs.size(), state);
  const WholeLines tuning = SplitLines(tuning_jsonl);
  const absl::StatusOr<std::vector<TrialRecord>> records = ParseTrials(tuning.text);
  RETURN_IF_ERROR(Annotate(records.status(), "tuning.jsonl: "));
  for (size_t i = 0; i < tuning.lines.size(); ++i) {
    RETURN_IF_ERROR(TakeTrial((*records)[i], tuning.lines[i], tuning.numbers[i], trials, state));
  }
  TakeCut(tuning.cut, "tuning.jsonl", state.trials.size() == trials.size(), state);
  return state;
}

absl::Status CheckNetwork(const std::vector<RunResult>& finished, const Network& now) {
  for (const RunResult& result : finished) {
    const Network& then = result.network;
    const auto text = [](const Network& network) {
      return absl::StrCat(network.kind.empty() ? "loopback" : network.kind, ", ",
                          network.shaping.empty() ? "unshaped" : network.shaping, ", interface ",
                          network.interface, network.placement.empty() ? "" : ", servers ",
                          network.placement);
    };
    if (text(then) == text(now)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the network was ", text(then), "; it is ", text(now),
                     ": figures of the two are not one comparison; fix: start anew with another "
                     "--out"));
  }
  return absl::OkStatus();
}

}  // namespace crossover::experiments
