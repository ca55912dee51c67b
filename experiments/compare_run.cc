#include "experiments/compare_run.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/clock.h"
#include "core/job.h"
#include "core/status.h"
#include "experiments/compare_hosts.h"
#include "experiments/compare_network.h"
#include "experiments/comparison.h"
#include "experiments/dry_run.h"
#include "experiments/job_size.h"
#include "experiments/machine.h"
#include "experiments/report/report_text.h"
#include "experiments/resume.h"
#include "experiments/resume_folder.h"
#include "experiments/run_plan.h"
#include "experiments/tuning.h"
#include "os/environment.h"
#include "os/files.h"
#include "os/job_file.h"
#include "os/wall_time.h"

namespace crossover::experiments {
namespace {

absl::Status CheckExecutable(const std::string& path, const std::string& flag) {
  if (access(path.c_str(), X_OK) == 0) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(path, ": not an executable program; build it, or name it with --", flag));
}

// A new folder in results/, by the time and the job's name. Made in one step, since two
// comparisons may begin in the same second.
absl::StatusOr<std::string> MakeDefaultOut(const std::string& job_name) {
  const std::string results = os::ResolveUserPath("results");
  RETURN_IF_ERROR(os::MakeDirectory(results));
  // A name may hold slashes, and even lead out of results/.
  const std::string first = absl::StrCat(results, "/", os::FolderTime(), "-",
                                         absl::StrReplaceAll(job_name, {{"/", "-"}}));
  std::string directory = first;
  std::error_code error;
  for (int same = 2; !std::filesystem::create_directory(directory, error); ++same) {
    if (error) {
      return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make the folder ", directory));
    }
    directory = absl::StrCat(first, "-", same);
  }
  return std::filesystem::absolute(directory).string();
}

// A folder that holds results already is refused: two comparisons in one file could not be told
// apart.
absl::Status CheckOut(const std::string& out) {
  const std::string directory = os::ResolveUserPath(out);
  std::error_code error;
  if (out.empty() || !std::filesystem::exists(directory, error)) return absl::OkStatus();
  if (std::filesystem::exists(directory + "/comparison.json", error)) {
    return absl::AlreadyExistsError(
        absl::StrCat("--out=", directory,
                     ": the folder is not empty, it holds a comparison; to go on with that: "
                     "--resume=",
                     directory, "; for a new one, name a new folder"));
  }
  if (!std::filesystem::is_empty(directory, error) || error) {
    return absl::AlreadyExistsError(
        absl::StrCat("--out=", directory,
                     ": the folder is not empty; name a new one, so that two comparisons "
                     "do not mix"));
  }
  return absl::OkStatus();
}

// The output folder, made if missing.
absl::StatusOr<std::string> PrepareOut(const std::string& out, const std::string& job_name) {
  if (out.empty()) return MakeDefaultOut(job_name);
  const std::string directory = os::ResolveUserPath(out);
  RETURN_IF_ERROR(os::MakeDirectory(directory));
  RETURN_IF_ERROR(CheckOut(out));
  return std::filesystem::absolute(directory).string();
}

// Of a new comparison that cannot start: the same --out may be named again.
void ForgetFolder(const std::string& directory) {
  std::error_code ignored;
  std::filesystem::remove(directory + "/comparison.json", ignored);
  std::filesystem::remove(directory, ignored);  // only if nothing else is in it
}

// As a user would type it; without --out, which must name a new folder each time.
std::string RerunCommand(const std::vector<std::string>& words) {
  std::string command = "experiments/run";
  for (const std::string& word : words) {
    if (word.rfind("--out=", 0) != 0) absl::StrAppend(&command, " ", QuoteForShell(word));
  }
  return command;
}

absl::StatusOr<std::vector<proto::Job>> ReadJobs(const CommandLine& command) {
  const ParsedFlags& parsed = command.parsed;
  if (parsed.positional.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", parsed.positional[1], "\": one job file at most"));
  }
  for (const auto& [path, value] : parsed.job_overrides) {
    if (path != "strategy") continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--strategy=", value, ": a comparison runs several; fix: --comparison.strategies=", value));
  }
  std::vector<proto::Job> jobs;
  FieldPositions positions;
  ASSIGN_OR_RETURN(
      jobs.emplace_back(),
      os::ReadJob(parsed.positional.empty() ? "" : parsed.positional[0], parsed, positions));
  if (const auto strategy = positions.find("strategy"); strategy != positions.end()) {
    std::fprintf(stderr,
                 "compare: %s: strategy is ignored, since a comparison runs several; "
                 "comparison.strategies chooses them\n",
                 strategy->second.c_str());
  }
  if (command.arguments.full && jobs.front().model() == proto::Model::lenet) {
    return absl::InvalidArgumentError("--full: the job's model is lenet already; leave it out");
  }
  if (command.arguments.full) {
    jobs.push_back(LenetJob(jobs.front()));
    RETURN_IF_ERROR(ValidateJob(jobs.back()));
  }
  return jobs;
}

// What is to be done: a new comparison, or the rest of one that a folder holds.
struct Undertaking {
  Arguments arguments;  // that the comparison began with
  std::vector<proto::Job> jobs;
  std::string rerun_command;
  std::optional<ComparisonRecord> record;  // of the folder arguments.out
};

absl::StatusOr<std::string> FolderToResume(const Arguments& arguments) {
  const bool names_folder = arguments.resume != "true";
  if (names_folder && !arguments.out.empty() && arguments.out != arguments.resume) {
    return absl::InvalidArgumentError(absl::StrCat("--resume=", arguments.resume,
                                                   " and --out=", arguments.out,
                                                   ": one folder; fix: leave out "
                                                   "--out, results go on in the folder"));
  }
  if (!names_folder && arguments.out.empty()) {
    return absl::InvalidArgumentError("--resume: of which comparison? fix: --resume=FOLDER");
  }
  return os::ResolveUserPath(names_folder ? arguments.resume : arguments.out);
}

// A flag beside --resume says what the comparison began with, or is refused.
absl::Status CheckWords(const std::vector<std::string>& given,
                        const std::vector<std::string>& recorded) {
  for (const std::string& word : given) {
    const std::string name = word.substr(0, word.find('='));
    const bool may_change =
        name == "--resume" || name == "--out" || name == "--keep-going" || name == "--dry-run";
    const bool of_job = !name.starts_with("--") || name == "--full" || IsJobField(name.substr(2));
    if (may_change || of_job) continue;
    if (std::find(recorded.begin(), recorded.end(), word) != recorded.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(word,
                     ": the comparison did not begin with it; fix: leave it out (beside "
                     "--resume, the folder has all flags)"));
  }
  return absl::OkStatus();
}

// Paths are relative to where the comparison began, not to where it is resumed.
void ResolvePaths(const std::string& working_directory, Arguments& arguments) {
  const std::filesystem::path base = working_directory;
  for (std::string* path : {&arguments.hosts, &arguments.worker_binary, &arguments.server_binary}) {
    if (!path->empty()) *path = (base / *path).string();
  }
}

absl::StatusOr<Undertaking> TakeUp(const CommandLine& given) {
  Undertaking undertaking;
  ASSIGN_OR_RETURN(const std::string directory, FolderToResume(given.arguments));
  ASSIGN_OR_RETURN(undertaking.record, ReadRecord(directory));
  const ComparisonRecord& record = *undertaking.record;
  RETURN_IF_ERROR(CheckWords(given.words, record.arguments));
  ASSIGN_OR_RETURN(undertaking.jobs, JobsOf(record));
  if (!given.parsed.job_overrides.empty() || !given.parsed.positional.empty() ||
      given.arguments.full) {
    ASSIGN_OR_RETURN(const std::vector<proto::Job> jobs, ReadJobs(given));
    RETURN_IF_ERROR(CheckJobs(undertaking.jobs, jobs));
  }
  ASSIGN_OR_RETURN(const CommandLine began, ParseCommandLine(record.arguments));
  undertaking.arguments = began.arguments;
  ResolvePaths(record.working_directory, undertaking.arguments);
  undertaking.arguments.out = std::filesystem::absolute(directory).string();
  undertaking.arguments.dry_run = given.arguments.dry_run;
  undertaking.arguments.keep_going |= given.arguments.keep_going;
  undertaking.rerun_command = record.rerun_command;
  return undertaking;
}

absl::StatusOr<Undertaking> Begin(const CommandLine& command) {
  Undertaking undertaking;
  undertaking.arguments = command.arguments;
  ASSIGN_OR_RETURN(undertaking.jobs, ReadJobs(command));
  undertaking.rerun_command = RerunCommand(command.words);
  return undertaking;
}

absl::Status FindPrograms(const Arguments& arguments, ComparisonOptions& options) {
  options.worker_binary = arguments.worker_binary.empty()
                              ? os::SiblingBinary("worker/worker")
                              : os::ResolveUserPath(arguments.worker_binary);
  options.server_binary = arguments.server_binary.empty()
                              ? os::SiblingBinary("ps/server")
                              : os::ResolveUserPath(arguments.server_binary);
  RETURN_IF_ERROR(CheckExecutable(options.worker_binary, "worker-binary"));
  return CheckExecutable(options.server_binary, "server-binary");
}

// Looks up what the jobs come to, and plans the trials.
absl::Status Plan(const Undertaking& undertaking, SignalWaiter& signals,
                  ComparisonOptions& options) {
  for (const proto::Job& job : undertaking.jobs) {
    ASSIGN_OR_RETURN(const JobSize size, SizeOfJob(job, options.worker_binary, signals));
    options.total_steps[job.model()] = size.plan.total_steps;
    if (!undertaking.arguments.dry_run) continue;
    std::vector<PlannedRun> of_job;
    for (const PlannedRun& run : options.runs) {
      if (run.job.model() == job.model()) of_job.push_back(run);
    }
    std::printf("%s%s\n", DescribeDryRun(of_job, size).c_str(),
                DescribeSearch(job, size.plan.total_steps).c_str());
  }
  ASSIGN_OR_RETURN(options.trials, PlanTrials(undertaking.jobs, options.total_steps));
  return absl::OkStatus();
}

// What tells the comparison from others, as it is here and now.
absl::StatusOr<ComparisonRecord> MakeRecord(const CommandLine& command,
                                            const Undertaking& undertaking,
                                            const ComparisonOptions& options) {
  ComparisonRecord record;
  record.start_time = os::IsoTime();
  record.rerun_command = undertaking.rerun_command;
  record.arguments = command.words;
  record.working_directory = os::ResolveUserPath(".");
  for (const proto::Job& job : undertaking.jobs) record.jobs.push_back(PrintJob(job));
  record.environment = options.environment;
  ASSIGN_OR_RETURN(record.programs, FingerprintPrograms({{"compare", "/proc/self/exe"},
                                                         {"worker", options.worker_binary},
                                                         {"server", options.server_binary}}));
  return record;
}

// Refuses to go on where figures would not be of one comparison; says what else has changed.
absl::Status CheckPlace(const ComparisonRecord& then, const ComparisonRecord& now,
                        ProgressPrinter& progress) {
  const PlaceDifferences differences = ComparePlaces(then, now);
  if (!differences.refused.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("--resume: runs made now would not compare with those of ", then.start_time,
                     ": ", absl::StrJoin(differences.refused, "; "),
                     "; fix: restore it, or start anew: ", then.rerun_command));
  }
  for (const std::string& note : differences.noted) {
    progress.Say(absl::StrCat("since ", then.start_time, ": ", note));
  }
  return absl::OkStatus();
}

// What the folder has finished is taken over; what was cut short or failed leaves its files.
absl::Status TakeOver(ComparisonOptions& options, ProgressPrinter& progress) {
  ASSIGN_OR_RETURN(FolderState state, ReadFolder(options.directory, options.runs, options.trials));
  RETURN_IF_ERROR(CheckNetwork(state.finished, options.network));
  RETURN_IF_ERROR(TidyFolder(options.directory, state));
  for (const std::string& message : state.messages) progress.Say(message);
  const size_t all = options.runs.size() + options.trials.size();
  const size_t finished = state.finished.size() + state.trials.size();
  progress.Say(absl::StrCat(
      "going on with ", options.directory, ": ", finished, " of ", all, " runs have finished",
      state.failed.empty()
          ? ""
          : absl::StrCat(", ", state.failed.size(), " failed and will be made again")));
  options.finished = std::move(state.finished);
  options.failed = std::move(state.failed);
  options.finished_trials = std::move(state.trials);
  options.resume_time = os::IsoTime();
  return absl::OkStatus();
}

}  // namespace

absl::Status CompareRun(const CommandLine& command, int& ended_by) {
  SystemClock clock;
  ComparisonOptions options;
  ASSIGN_OR_RETURN(const Undertaking undertaking,
                   command.arguments.resume.empty() ? Begin(command) : TakeUp(command));
  const Arguments& arguments = undertaking.arguments;
  RETURN_IF_ERROR(FindPrograms(arguments, options));
  // What a flag or a file says wrongly is told before a program is started to look at the job.
  ASSIGN_OR_RETURN(options.runs, PlanRuns(undertaking.jobs));
  ASSIGN_OR_RETURN(const HostsChoice chosen_hosts, ChooseHosts(arguments, options.runs));
  RETURN_IF_ERROR(CheckNetworkWords(arguments, options.runs));
  if (!undertaking.record.has_value()) RETURN_IF_ERROR(CheckOut(arguments.out));
  std::optional<SignalWaiter> signals(std::in_place);
  const absl::Status planned = Plan(undertaking, *signals, options);
  ended_by = signals->ended_by();
  RETURN_IF_ERROR(planned);
  if (arguments.dry_run) return absl::OkStatus();

  ProgressPrinter progress(stderr, isatty(STDERR_FILENO) == 1, clock);
  options.keep_going = arguments.keep_going;
  options.save_parameters = arguments.save_parameters;
  options.rerun_command = undertaking.rerun_command;
  options.environment = DescribeMachine(os::SourceTree());
  // While it connects to hosts nothing looks for signals; there, what was started ends with us.
  if (!arguments.hosts.empty()) signals.reset();
  ASSIGN_OR_RETURN(const std::unique_ptr<RemoteHosts> hosts,
                   SetUpHosts(arguments, chosen_hosts, clock, progress, options));
  ASSIGN_OR_RETURN(const ComparisonRecord record, MakeRecord(command, undertaking, options));
  if (undertaking.record.has_value()) {
    options.directory = arguments.out;
    RETURN_IF_ERROR(CheckPlace(*undertaking.record, record, progress));
  } else {
    ASSIGN_OR_RETURN(options.directory, PrepareOut(arguments.out, undertaking.jobs.front().name()));
    RETURN_IF_ERROR(WriteRecord(options.directory, record));
  }
  ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(options.directory));
  if (hosts != nullptr) {
    RETURN_IF_ERROR(os::WriteFile(options.directory + "/hosts.txt", HostsText(hosts->report())));
  }
  if (!signals) signals.emplace();
  const absl::StatusOr<std::unique_ptr<LabSession>> lab =
      SetUpNetwork(arguments, *signals, progress, options);
  ended_by = signals->ended_by();
  if (!lab.ok() && !undertaking.record.has_value()) ForgetFolder(options.directory);
  RETURN_IF_ERROR(lab.status());
  if (undertaking.record.has_value()) RETURN_IF_ERROR(TakeOver(options, progress));
  std::vector<RunResult> results;
  absl::Status status = RunComparison(options, *signals, clock, progress, results);
  ended_by = signals->ended_by();
  progress.Finish();
  if (results.empty()) {
    std::printf("no run was finished; logs: %s\n", options.directory.c_str());
  } else {
    std::printf("\n%s\nresults and reports: %s\n", ReportText(results).c_str(),
                options.directory.c_str());
  }
  if (!status.ok()) {
    std::fflush(stdout);
    std::fprintf(stderr, "compare: to go on where it stopped: experiments/run --resume=%s\n",
                 QuoteForShell(options.directory).c_str());
  }
  return status;
}

}  // namespace crossover::experiments
