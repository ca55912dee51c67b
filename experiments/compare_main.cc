// The compare binary: one job under every strategy, side by side.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "core/clock.h"
#include "core/flag_parser.h"
#include "core/job.h"
#include "core/status.h"
#include "experiments/comparison.h"
#include "experiments/dry_run.h"
#include "experiments/job_size.h"
#include "experiments/machine.h"
#include "experiments/report_folder.h"
#include "experiments/report_text.h"
#include "net/grpc_setup.h"
#include "net/local_address.h"
#include "os/environment.h"
#include "os/files.h"
#include "os/job_file.h"
#include "os/termination.h"
#include "os/wall_time.h"

namespace crossover::experiments {
namespace {

struct Arguments {
  std::string out;
  std::string report;
  std::string interface;
  std::string worker_binary;
  std::string server_binary;
  bool full = false;
  bool dry_run = false;
  bool keep_going = false;
  bool save_parameters = false;
};

FlagSet MakeFlags(Arguments& arguments) {
  FlagSet flags(
      "experiments/run [flags] [JOB.textproto]",
      "Trains one job under every strategy of synchronising gradients, each as real "
      "processes, and reports throughput, communication, accuracy and cost side by side.");
  flags.BeginGroup("The comparison");
  flags.Add({"out", "folder for results and reports; made if missing, must be empty",
             "results/TIME-NAME", SetText(&arguments.out)});
  flags.Add({"full", "compare the lenet job too", "", SetBool(&arguments.full), true});
  flags.Add({"dry-run", "show processes, bytes a step and memory; start nothing", "",
             SetBool(&arguments.dry_run), true});
  flags.Add({"keep-going", "go on with the other runs after one has failed", "",
             SetBool(&arguments.keep_going), true});
  flags.Add({"save-parameters", "keep every worker's final parameters in the run's folder", "",
             SetBool(&arguments.save_parameters), true});
  flags.Add(
      {"interface",
       "where the processes listen: a name (eth0), an address, a CIDR (10.0.0.0/8), a list of "
       "these, or all but these (^docker0,lo)",
       "loopback", SetText(&arguments.interface)});
  flags.Add({"report",
             "results folder whose report.md and report.html are made again from its "
             "results.jsonl; runs nothing",
             "", SetText(&arguments.report)});
  flags.BeginGroup("Other programs");
  flags.Add({"worker-binary", "the worker to start", "the one built with this program",
             SetText(&arguments.worker_binary)});
  flags.Add({"server-binary", "the server to start", "the one built with this program",
             SetText(&arguments.server_binary)});
  flags.AddJobFields();
  flags.AddExample("experiments/run", "the default comparison, a few minutes");
  flags.AddExample("experiments/run --comparison.strategies=ps_sync,allreduce_ring --workers=2",
                   "two strategies, two workers");
  flags.AddExample("experiments/run --comparison.repetitions=6 --out=/tmp/six",
                   "enough repetitions for 95% intervals");
  flags.AddExample(
      "experiments/run my_job.textproto --optimizer.name=adam "
      "--learning_rate.base=0.001",
      "a job of your own, with two fields overridden");
  flags.AddExample("experiments/run --dry-run --workers=8", "what 8 workers would cost");
  return flags;
}

// Beside this program in the build tree: experiments/compare, worker/worker, ps/server.
std::string SiblingBinary(const std::string& relative) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path().parent_path() / relative).string();
}

absl::Status CheckExecutable(const std::string& path, const std::string& flag) {
  if (access(path.c_str(), X_OK) == 0) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(path, ": not an executable program; build it, or name it with --", flag));
}

// The output folder, made if missing. One that holds results already is refused: two
// comparisons in one file could not be told apart.
absl::StatusOr<std::string> PrepareOut(const std::string& out, const std::string& job_name) {
  std::string directory = os::ResolveUserPath(out);
  if (out.empty()) {
    directory = os::ResolveUserPath(absl::StrCat("results/", os::FolderTime(), "-", job_name));
  }
  RETURN_IF_ERROR(os::MakeDirectory(directory));
  std::error_code error;
  if (!std::filesystem::is_empty(directory, error) || error) {
    return absl::AlreadyExistsError(
        absl::StrCat("--out=", directory,
                     ": the folder is not empty; name a new one, so that two comparisons "
                     "do not mix"));
  }
  return std::filesystem::absolute(directory).string();
}

// As a user would type it; without --out, which must name a new folder each time.
std::string RerunCommand(int argc, char** argv) {
  std::string command = "experiments/run";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--out=", 0) == 0) continue;
    absl::StrAppend(&command, " ", QuoteForShell(argument));
  }
  return command;
}

absl::StatusOr<std::vector<proto::Job>> ReadJobs(const Arguments& arguments,
                                                 const ParsedFlags& parsed) {
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
  if (arguments.full && jobs.front().model() == proto::Model::lenet) {
    return absl::InvalidArgumentError("--full: the job's model is lenet already; leave it out");
  }
  if (arguments.full) {
    jobs.push_back(LenetJob(jobs.front()));
    RETURN_IF_ERROR(ValidateJob(jobs.back()));
  }
  return jobs;
}

absl::Status RunMain(const Arguments& arguments, const ParsedFlags& parsed,
                     const std::string& rerun_command, int& ended_by) {
  SystemClock clock;
  ComparisonOptions options;
  ASSIGN_OR_RETURN(const std::vector<proto::Job> jobs, ReadJobs(arguments, parsed));
  ASSIGN_OR_RETURN(options.runs, PlanRuns(jobs));
  options.worker_binary = arguments.worker_binary.empty()
                              ? SiblingBinary("worker/worker")
                              : os::ResolveUserPath(arguments.worker_binary);
  options.server_binary = arguments.server_binary.empty()
                              ? SiblingBinary("ps/server")
                              : os::ResolveUserPath(arguments.server_binary);
  RETURN_IF_ERROR(CheckExecutable(options.worker_binary, "worker-binary"));
  RETURN_IF_ERROR(CheckExecutable(options.server_binary, "server-binary"));
  for (const proto::Job& job : jobs) {
    ASSIGN_OR_RETURN(const JobSize size, SizeOfJob(job, options.worker_binary));
    options.total_steps[job.model()] = size.plan.total_steps;
    if (arguments.dry_run) {
      std::vector<PlannedRun> of_job;
      for (const PlannedRun& run : options.runs) {
        if (run.job.model() == job.model()) of_job.push_back(run);
      }
      std::printf("%s\n", DescribeDryRun(of_job, size).c_str());
    }
  }
  if (arguments.dry_run) return absl::OkStatus();

  const absl::StatusOr<net::AddressChoice> address = net::LocalAddress(arguments.interface);
  RETURN_IF_ERROR(
      Annotate(address.status(), absl::StrCat("--interface=", arguments.interface, ": ")));
  options.host = address->address;
  ASSIGN_OR_RETURN(options.directory, PrepareOut(arguments.out, jobs.front().name()));
  options.keep_going = arguments.keep_going;
  options.save_parameters = arguments.save_parameters;
  options.rerun_command = rerun_command;
  options.environment = DescribeMachine(os::SourceTree());
  options.network.interface = options.host;
  // Processes of one machine talk through its loopback whatever address they use.
  options.network.loopback = true;

  // Only now: until here nothing has been started, and a signal ends the program as it
  // ends any other.
  SignalWaiter signals;
  ProgressPrinter progress(stderr, isatty(STDERR_FILENO) == 1, clock);
  progress.Say(absl::StrCat("listening on ", net::DescribeChoice(*address)));
  std::vector<RunResult> results;
  absl::Status status = RunComparison(options, signals, clock, progress, results);
  ended_by = signals.ended_by();
  progress.Finish();
  if (results.empty()) {
    std::printf("no run was finished; logs: %s\n", options.directory.c_str());
  } else {
    std::printf("\n%s\nresults and reports: %s\n", ReportText(results).c_str(),
                options.directory.c_str());
  }
  return status;
}

absl::Status ReportAgain(const Arguments& arguments, const ParsedFlags& parsed) {
  if (!parsed.positional.empty() || !parsed.job_overrides.empty()) {
    return absl::InvalidArgumentError(
        "--report makes the reports of a job that has run; leave the job and its fields out");
  }
  const std::string directory = os::ResolveUserPath(arguments.report);
  ASSIGN_OR_RETURN(const std::vector<RunResult> results, RemakeReports(directory));
  std::printf("%s\nreports: %s\n", ReportText(results).c_str(), directory.c_str());
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  net::SilenceGrpcLog();
  Arguments arguments;
  const FlagSet flags = MakeFlags(arguments);
  const absl::StatusOr<ParsedFlags> parsed = flags.Parse(argc, argv);
  absl::Status status = parsed.status();
  if (status.ok() && parsed->help) {
    std::fputs(flags.Usage().c_str(), stdout);
    return 0;
  }
  int ended_by = 0;  // the signal, if one did
  if (status.ok()) {
    status = arguments.report.empty()
                 ? RunMain(arguments, *parsed, RerunCommand(argc, argv), ended_by)
                 : ReportAgain(arguments, *parsed);
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "compare: %s\n", std::string(status.message()).c_str());
  return absl::IsCancelled(status) ? os::ExitCodeOf(ended_by) : 1;
}

}  // namespace
}  // namespace crossover::experiments

int main(int argc, char** argv) { return crossover::experiments::Main(argc, argv); }
