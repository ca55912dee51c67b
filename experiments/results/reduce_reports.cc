#include "experiments/results/reduce_reports.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/job.h"
#include "core/status.h"
#include "experiments/report/report_folder.h"
#include "experiments/results/reduce_run.h"
#include "net/address.h"
#include "os/environment.h"
#include "os/files.h"
#include "os/job_file.h"

namespace crossover::experiments {
namespace {

constexpr char kJobFile[] = "job.textproto";

absl::StatusOr<std::vector<std::string>> ReportFilesOf(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".report") files.push_back(entry->path().string());
  }
  if (error) return absl::UnavailableError(absl::StrCat(directory, ": ", error.message()));
  if (files.empty()) {
    return absl::NotFoundError(
        absl::StrCat(directory,
                     ": no *.report file; fix: start every process of the run with "
                     "--report=FILE, and copy these files here from all hosts"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<ReportedRun> ReadRun(const std::string& name, const std::vector<std::string>& files,
                                    const std::string& directory, const std::string& job_path,
                                    const ParsedFlags& parsed) {
  ReportedRun run;
  run.name = name;
  const std::string own_job = absl::StrCat(directory, "/", kJobFile);
  if (job_path.empty() && !std::filesystem::exists(own_job)) {
    return absl::NotFoundError(absl::StrCat(
        own_job, ": not there; fix: copy the run's job to it, or name it with --job=FILE"));
  }
  ASSIGN_OR_RETURN(run.job, os::ReadJob(job_path.empty() ? own_job : job_path, parsed));
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const std::string bytes, os::ReadFile(file));
    if (!run.reports.emplace_back().ParseFromString(bytes)) {
      return absl::InvalidArgumentError(absl::StrCat(
          file, ": not a whole ProcessReport; fix: copy it again, or leave the run out"));
    }
  }
  return run;
}

// What one name may stand for: equal for jobs that differ in strategy and seed alone.
uint64_t ComparableFingerprint(proto::Job job) {
  job.clear_strategy();
  job.clear_seed();
  return JobFingerprint(job);
}

std::set<std::string> HostsOf(const ReportedRun& run) {
  std::set<std::string> hosts;
  for (const proto::ProcessReport& report : run.reports) hosts.insert(report.host());
  return hosts;
}

Environment EnvironmentOf(const std::set<std::string>& hosts, const Environment& machine) {
  if (hosts == std::set<std::string>{machine.hostname}) return machine;
  Environment environment;
  environment.hostname = absl::StrJoin(hosts, ", ");
  return environment;
}

// The addresses that the processes listened on; one host's talk through its loopback.
Network NetworkOf(const ReportedRun& run, const std::set<std::string>& hosts) {
  std::set<std::string> addresses;
  for (const proto::ProcessReport& report : run.reports) {
    const absl::StatusOr<net::HostPort> address = net::ParseHostPort(report.data_address());
    if (address.ok()) addresses.insert(address->host);
  }
  Network network;
  network.interface = absl::StrJoin(addresses, ", ");
  network.loopback = hosts.size() == 1;
  return network;
}

}  // namespace

absl::StatusOr<std::vector<ReportedRun>> ReadReportedRuns(const std::vector<std::string>& paths,
                                                          const std::string& job_path,
                                                          const ParsedFlags& parsed) {
  if (paths.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--reduce: no run was named; allowed: folders, each with a run's ", kJobFile,
                     " and its processes' *.report files, or such files"));
  }
  std::vector<ReportedRun> runs;
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const std::string resolved = os::ResolveUserPath(path);
    if (!std::filesystem::exists(resolved)) {
      return absl::NotFoundError(absl::StrCat(path, ": no such folder or file"));
    }
    if (!std::filesystem::is_directory(resolved)) {
      files.push_back(resolved);
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> reports, ReportFilesOf(resolved));
    ASSIGN_OR_RETURN(runs.emplace_back(), ReadRun(path, reports, resolved, job_path, parsed));
  }
  if (files.empty()) return runs;
  const std::string beside = std::filesystem::path(files[0]).parent_path().string();
  ASSIGN_OR_RETURN(runs.emplace_back(),
                   ReadRun(files[0], files, beside.empty() ? "." : beside, job_path, parsed));
  return runs;
}

absl::StatusOr<std::vector<RunResult>> ReduceReportedRuns(std::span<const ReportedRun> runs,
                                                          const std::string& command,
                                                          const Environment& machine) {
  std::map<std::pair<std::string, int>, const ReportedRun*> first_of_name;
  std::map<std::pair<const ReportedRun*, int>, int> repetitions;
  std::vector<RunResult> results;
  for (const ReportedRun& run : runs) {
    const std::pair<std::string, int> name(run.job.name(), run.job.model());
    const ReportedRun* first = first_of_name.emplace(name, &run).first->second;
    if (ComparableFingerprint(first->job) != ComparableFingerprint(run.job)) {
      return absl::InvalidArgumentError(absl::StrCat(
          run.name, " and ", first->name, ": their jobs are both named '", run.job.name(),
          "' but differ in more than strategy and seed; fix: give "
          "them different names, or reduce them apart"));
    }
    const std::set<std::string> hosts = HostsOf(run);
    RunContext context;
    context.repetition = repetitions[{first, run.job.strategy()}]++;
    context.rerun_command = command;
    context.environment = EnvironmentOf(hosts, machine);
    context.network = NetworkOf(run, hosts);
    absl::StatusOr<RunResult> result = ReduceRun(run.job, run.reports, context);
    RETURN_IF_ERROR(Annotate(result.status(), absl::StrCat(run.name, ": ")));
    result->notes.push_back(
        "its processes were started by hand: when it began and what shaped its network are not "
        "recorded, and the command makes the report again, not the run");
    results.push_back(*std::move(result));
  }
  return results;
}

absl::StatusOr<Reduced> ReduceReports(const ReduceOptions& options, const ParsedFlags& parsed,
                                      const Environment& machine) {
  ASSIGN_OR_RETURN(const std::vector<ReportedRun> runs,
                   ReadReportedRuns(options.paths, options.job_path, parsed));
  Reduced reduced;
  ASSIGN_OR_RETURN(reduced.results, ReduceReportedRuns(runs, options.command, machine));
  if (options.out.empty() && options.paths.size() > 1) {
    return absl::InvalidArgumentError(
        "--reduce of several paths: where to is not said; fix: --out=FOLDER");
  }
  reduced.directory = os::ResolveUserPath(options.out.empty() ? options.paths[0] : options.out);
  RETURN_IF_ERROR(os::MakeDirectory(reduced.directory));
  const std::string lines_path = reduced.directory + "/results.jsonl";
  if (std::filesystem::exists(lines_path)) {
    return absl::AlreadyExistsError(absl::StrCat(
        lines_path, ": there already; fix: name a new folder with --out=, or remove it"));
  }
  for (const RunResult& result : reduced.results) {
    RETURN_IF_ERROR(os::AppendLine(lines_path, ToJsonLine(result)));
  }
  RETURN_IF_ERROR(WriteReports(reduced.directory, reduced.results));
  return reduced;
}

}  // namespace crossover::experiments
