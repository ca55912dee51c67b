// The test to run before training: times collectives among ranks and checks every element of every
// result. Starts the ranks on this machine, or is one rank of several hosts.
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bench/comm/arguments.h"
#include "bench/comm/cells.h"
#include "bench/comm/fit.h"
#include "bench/comm/hosts.h"
#include "bench/comm/member.h"
#include "bench/comm/rounds.h"
#include "bench/comm/table.h"
#include "bench/comm/targets.h"
#include "core/status.h"
#include "experiments/signal_waiter.h"
#include "net/grpc_setup.h"
#include "os/environment.h"
#include "os/files.h"
#include "os/termination.h"

namespace crossover::bench {
namespace {

constexpr int64_t kTargetRounds = 9;

int Fail(const std::string& who, const absl::Status& status) {
  std::fprintf(stderr, "%s: %s\n", who.c_str(), std::string(status.message()).c_str());
  return 1;
}

// A folder that goes with the program.
class ScratchFolder {
 public:
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Make() {
    std::string path = std::filesystem::temp_directory_path() / "comm_test-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot make the folder ", path));
    }
    return std::unique_ptr<ScratchFolder>(new ScratchFolder(path));
  }
  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

// Takes every line as it comes.
class Results {
 public:
  explicit Results(const std::string& json) : json_(os::ResolveUserPath(json)) {}
  absl::Status Begin() const { return json_.empty() ? absl::OkStatus() : os::WriteFile(json_, ""); }
  void Take(const Record& record) {
    records_.push_back(record);
    if (!json_.empty() && status_.ok()) status_ = os::AppendLine(json_, WriteRecord(record));
  }
  const std::vector<Record>& records() const { return records_; }
  const absl::Status& status() const { return status_; }

 private:
  const std::string json_;
  std::vector<Record> records_;
  absl::Status status_;  // of the file
};

absl::Status CheckWrong(const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (record.wrong == 0) continue;
    return absl::DataLossError(absl::StrCat(
        record.library, " ", record.transport, " ", record.algorithm, ", ", record.op, " of ",
        record.bytes, " bytes: ", record.wrong, " wrong elements among ", record.ranks, " ranks"));
  }
  return absl::OkStatus();
}

// Tables, the fit and the check of what was measured.
absl::Status Report(const Arguments& arguments, const Results& results) {
  std::fputs(Tables(SeriesOf(results.records())).c_str(), stdout);
  std::fflush(stdout);
  RETURN_IF_ERROR(results.status());
  if (!arguments.fit.empty()) {
    RETURN_IF_ERROR(
        os::WriteFile(os::ResolveUserPath(arguments.fit), WriteFits(FitCosts(results.records()))));
  }
  return CheckWrong(results.records());
}

absl::Status Judge(const std::vector<Target>& targets, const Results& results) {
  const std::vector<Series> all = SeriesOf(results.records());
  std::string missed;
  for (const Target& target : targets) {
    const std::vector<Verdict> verdicts = target.judge(all);
    std::fputs(VerdictText(target, verdicts).c_str(), stdout);
    for (const Verdict& verdict : verdicts) {
      if (!verdict.reached)
        absl::StrAppend(&missed, missed.empty() ? "" : "; ", target.name, " ", verdict.what);
    }
  }
  std::fflush(stdout);
  return missed.empty() ? absl::OkStatus()
                        : absl::FailedPreconditionError(absl::StrCat("missed: ", missed));
}

absl::Status FromFile(const Arguments& arguments) {
  const std::string path = os::ResolveUserPath(arguments.from);
  ASSIGN_OR_RETURN(const std::string lines, os::ReadFile(path));
  const absl::StatusOr<std::vector<Record>> records = ReadRecords(lines);
  RETURN_IF_ERROR(Annotate(records.status(), path + ": "));
  Results results("");
  for (const Record& record : *records) results.Take(record);
  std::vector<Target> targets;
  if (!arguments.target.empty()) {
    ASSIGN_OR_RETURN(targets, TargetsNamed(arguments.target));
  }
  RETURN_IF_ERROR(Report(arguments, results));
  return Judge(targets, results);
}

// A fit needs more than the algorithm that would be chosen.
std::vector<TestPlan> PlansFor(const Arguments& arguments, const TestPlan& plan) {
  const bool has_schedules = plan.transport != Transport::kSharedMemory;
  if (arguments.fit.empty() || plan.algorithm || !has_schedules) return {plan};
  std::vector<TestPlan> plans;
  for (const allreduce::Algorithm algorithm : allreduce::AlgorithmsOf(plan.op)) {
    if (algorithm == allreduce::Algorithm::kHierarchical) continue;  // of other algorithms' steps
    plans.push_back(plan);
    plans.back().algorithm = algorithm;
  }
  return plans;
}

int LocalRanks(const Arguments& arguments) {
  return arguments.local_ranks > 0 ? static_cast<int>(arguments.local_ranks) : 2;
}

absl::Status RunHere(const Arguments& arguments, experiments::SignalWaiter& signals, Clock& clock) {
  ASSIGN_OR_RETURN(const TestPlan plan, ReadPlan(arguments.plan));
  std::vector<Target> targets;
  std::vector<TargetRun> runs = {
      {PlansFor(arguments, plan), LocalRanks(arguments), arguments.network, arguments.peers}};
  if (!arguments.target.empty()) {
    ASSIGN_OR_RETURN(targets, TargetsNamed(arguments.target));
    runs.clear();
    for (const Target& target : targets) {
      runs.insert(runs.end(), target.runs.begin(), target.runs.end());
    }
  }
  Results results(arguments.json);
  RETURN_IF_ERROR(results.Begin());
  ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::Make());
  RoundsOptions options;
  options.rounds = static_cast<int>(arguments.rounds > 0 ? arguments.rounds
                                    : targets.empty()    ? 1
                                                         : kTargetRounds);
  options.programs = arguments.peers_directory.empty()
                         ? scratch->path() + "/peers"
                         : os::ResolveUserPath(arguments.peers_directory);
  options.ranks_per_node = static_cast<int>(arguments.ranks_per_node);
  options.directory = scratch->path();
  options.binary = os::SiblingBinary("bench/comm_test");
  options.say = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  TestHosts hosts;
  if (!arguments.hosts.empty()) {
    ASSIGN_OR_RETURN(hosts, ConnectHosts(arguments, options.binary, options.say, clock));
    options.hosts = hosts.hosts.get();
    options.sites = hosts.hosts->sites();
    runs.front().ranks = hosts.ranks;
  }
  options.found = [&results](const Record& record) { results.Take(record); };
  for (const TargetRun& run : runs) {
    options.plans = run.plans;
    options.ranks = run.ranks;
    options.network = run.network;
    options.peers = run.peers;
    absl::Status status = RunRounds(options, signals, clock).status();
    options.first_round += options.rounds;
    // What came before is worth showing.
    if (!status.ok()) {
      if (!absl::IsCancelled(status)) Report(arguments, results).IgnoreError();
      return status;
    }
  }
  RETURN_IF_ERROR(Report(arguments, results));
  return Judge(targets, results);
}

int MainHere(const Arguments& arguments, Clock& clock) {
  experiments::SignalWaiter signals;  // before any thread
  const absl::Status status =
      arguments.from.empty() ? RunHere(arguments, signals, clock) : FromFile(arguments);
  if (status.ok()) return 0;
  Fail("comm_test", status);
  return absl::IsCancelled(status) ? os::ExitCodeOf(signals.ended_by()) : 1;
}

absl::StatusOr<Member::Options> MemberOptions(const Arguments& arguments) {
  process::MemberFlags flags = arguments.member;
  if (!absl::SimpleAtoi(arguments.rank, &flags.rank) || flags.rank < 0 ||
      flags.rank >= arguments.world_size) {
    return absl::InvalidArgumentError(absl::StrCat("--rank=", arguments.rank, ": allowed: 0 to ",
                                                   arguments.world_size - 1,
                                                   " (--world_size - 1)"));
  }
  ASSIGN_OR_RETURN(
      const process::MemberSetup setup,
      process::SetUpMember(flags, net::Role::kWorker, static_cast<int>(arguments.world_size)));
  Member::Options options;
  ASSIGN_OR_RETURN(options.plan, ReadPlan(arguments.plan));
  options.rank = setup.rank;
  options.world_size = static_cast<int>(arguments.world_size);
  options.token = setup.token;
  options.rendezvous_address = setup.rendezvous_address;
  options.hosts_rendezvous = arguments.rendezvous_host == "rank0" && setup.rank == 0;
  options.listen_host = setup.listen.host;
  options.listen_port = setup.listen.port;
  return options;
}

// A rank that a launcher or somebody at a terminal has started. Rank 0 shows and keeps the results.
int MainMember(const Arguments& arguments, const Clock& clock) {
  os::Termination termination;  // before any thread
  const std::string name = absl::StrCat("rank ", arguments.rank);
  absl::StatusOr<Member::Options> options = MemberOptions(arguments);
  if (!options.ok()) return Fail(name, options.status());
  const bool shows = options->rank == 0;
  Results results(shows ? arguments.json : "");
  options->found = [&results](const Record& record) { results.Take(record); };
  absl::Status status = results.Begin();
  const auto member = std::make_shared<Member>(*options, clock);
  termination.OnSignal([member](int signal) {
    const bool told = member->Stop(absl::CancelledError(
        absl::StrCat("told to stop by signal ", signal, " (", strsignal(signal), ")")));
    if (!told) _exit(os::ExitCodeOf(signal));
  });
  if (status.ok()) status = member->Run();
  if (status.ok()) status = shows ? Report(arguments, results) : CheckWrong(results.records());
  if (status.ok()) return 0;
  Fail(name, status);
  return termination.signal() != 0 ? os::ExitCodeOf(termination.signal()) : 1;
}

int Main(int argc, char** argv) {
  SystemClock clock;
  net::SilenceGrpcLog();
  Arguments arguments;
  const FlagSet flags = MakeFlags(arguments);
  const absl::StatusOr<ParsedFlags> parsed = flags.Parse(argc, argv);
  if (!parsed.ok()) return Fail("comm_test", parsed.status());
  if (parsed->help) {
    std::fputs(flags.Usage().c_str(), stdout);
    return 0;
  }
  const absl::Status fits = CheckArguments(arguments, *parsed);
  if (!fits.ok()) return Fail("comm_test", fits);
  return arguments.rank.empty() ? MainHere(arguments, clock) : MainMember(arguments, clock);
}

}  // namespace
}  // namespace crossover::bench

int main(int argc, char** argv) { return crossover::bench::Main(argc, argv); }
