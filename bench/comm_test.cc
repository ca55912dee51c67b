// The test to run before training: times collectives among ranks and checks every element of every
// result. Starts the ranks on this machine, or is one rank of several hosts.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bench/comm/arguments.h"
#include "bench/comm/cells.h"
#include "bench/comm/fit.h"
#include "bench/comm/hosts.h"
#include "bench/comm/member.h"
#include "bench/comm/record_check.h"
#include "bench/comm/results.h"
#include "bench/comm/rounds.h"
#include "bench/comm/targets.h"
#include "bench/shared/scratch_folder.h"
#include "bench/shared/verdict.h"
#include "core/status.h"
#include "experiments/launch/signal_waiter.h"
#include "net/grpc_setup.h"
#include "os/environment.h"
#include "os/files.h"
#include "os/termination.h"
#include "process/member_process.h"

namespace crossover::bench {
namespace {

constexpr int64_t kTargetRounds = 9;

int Fail(const std::string& who, const absl::Status& status) {
  std::fprintf(stderr, "%s: %s\n", who.c_str(), std::string(status.message()).c_str());
  return 1;
}

absl::Status Judge(const std::vector<Target>& targets, const Results& results) {
  const std::vector<Series> all = SeriesOf(results.records());
  std::string missed;
  for (const Target& target : targets) {
    const std::vector<Verdict> verdicts = target.judge(all);
    RETURN_IF_ERROR(Print(VerdictText(target.name, target.says, verdicts)));
    NoteMissed(target.name, verdicts, missed);
  }
  return MissedError(missed);
}

absl::Status FromFile(const Arguments& arguments) {
  const std::string path = os::ResolveUserPath(arguments.from);
  ASSIGN_OR_RETURN(const std::string lines, os::ReadFile(path));
  const absl::StatusOr<std::vector<Record>> records = ReadResults(lines);
  RETURN_IF_ERROR(Annotate(records.status(), path + ": "));
  if (records->empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--from=", path, ": no line of --json"));
  }
  std::vector<Target> targets;
  if (!arguments.target.empty()) {
    ASSIGN_OR_RETURN(targets, TargetsNamed(arguments.target, AllTargets()));
  }
  Results results("");
  for (const Record& record : *records) results.Take(record);
  RETURN_IF_ERROR(results.Report(os::ResolveUserPath(arguments.fit)));
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

// What is to be measured: as the flags say, or the rows of --target.
struct Wanted {
  std::vector<Target> targets;
  std::vector<TargetRun> runs;
};

absl::StatusOr<Wanted> WantedOf(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const TestPlan plan, ReadPlan(arguments.plan));
  Wanted wanted;
  if (arguments.target.empty()) {
    const int ranks = arguments.local_ranks > 0 ? static_cast<int>(arguments.local_ranks) : 2;
    wanted.runs = {{PlansFor(arguments, plan), ranks, arguments.network, arguments.peers}};
    return wanted;
  }
  ASSIGN_OR_RETURN(wanted.targets, TargetsNamed(arguments.target, AllTargets()));
  for (const Target& target : wanted.targets) {
    wanted.runs.insert(wanted.runs.end(), target.runs.begin(), target.runs.end());
  }
  for (TargetRun& run : wanted.runs) {
    for (TestPlan& each : run.plans) {
      if (plan.budget_s != PlanFlags().budget_s) each.budget_s = plan.budget_s;
    }
  }
  return wanted;
}

void Say(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

absl::Status RunAll(const Wanted& wanted, RoundsOptions& options, Results& results,
                    experiments::SignalWaiter& signals, Clock& clock) {
  options.found = [&results](const Record& record) { results.Take(record); };
  for (const TargetRun& run : wanted.runs) {
    options.plans = run.plans;
    options.ranks = run.ranks;
    options.network = run.network;
    options.peers = run.peers;
    RETURN_IF_ERROR(RunRounds(options, signals, clock));
    options.first_round += options.rounds;
  }
  return absl::OkStatus();
}

absl::Status RunHere(const Arguments& arguments, experiments::SignalWaiter& signals, Clock& clock) {
  ASSIGN_OR_RETURN(Wanted wanted, WantedOf(arguments));
  Results results(os::ResolveUserPath(arguments.json));
  const std::string fit = os::ResolveUserPath(arguments.fit);
  RETURN_IF_ERROR(results.Begin(fit));
  ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::Make("comm_test"));
  const int64_t rounds_by_default = wanted.targets.empty() ? 1 : kTargetRounds;
  RoundsOptions options;
  options.rounds = static_cast<int>(arguments.rounds > 0 ? arguments.rounds : rounds_by_default);
  options.programs = arguments.peers_directory.empty()
                         ? scratch->path() + "/peers"
                         : os::ResolveUserPath(arguments.peers_directory);
  options.ranks_per_node = static_cast<int>(arguments.ranks_per_node);
  options.directory = scratch->path();
  options.binary = os::SiblingBinary("bench/comm_test");
  options.say = Say;
  TestHosts hosts;
  if (!arguments.hosts.empty()) {
    ASSIGN_OR_RETURN(hosts, ConnectHosts(arguments, options.binary, options.say, clock));
    options.hosts = hosts.hosts.get();
    options.sites = hosts.hosts->sites();
    wanted.runs.front().ranks = hosts.ranks;
  }
  const absl::Status status = RunAll(wanted, options, results, signals, clock);
  if (absl::IsCancelled(status)) return status;
  // What came before a failure is worth showing, and not worth a fit.
  const absl::Status reported = results.Report(status.ok() ? fit : "");
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(reported);
  return Judge(wanted.targets, results);
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
  ASSIGN_OR_RETURN(const process::MemberSetup setup,
                   process::SetUpMember(flags, net::Role::kWorker,
                                        static_cast<int>(arguments.world_size), false));
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
  const auto results = std::make_shared<Results>(shows ? os::ResolveUserPath(arguments.json) : "");
  options->found = [results](const Record& record) { results->Take(record); };
  const auto member = std::make_shared<Member>(*options, clock);
  const auto run = [&]() -> absl::Status {
    const std::string fit = shows ? os::ResolveUserPath(arguments.fit) : "";
    RETURN_IF_ERROR(results->Begin(fit));
    RETURN_IF_ERROR(member->Run());
    return shows ? results->Report(fit) : CheckRecords(results->records());
  };
  const auto stop = [member](const absl::Status& why) { return member->Stop(why); };
  return process::RunMember({[name] { return name; }, run, stop}, termination);
}

// The file's constants, as a flag's would be. Auto schedules go over TCP.
absl::Status UseFit(Arguments& arguments) {
  if (arguments.use_fit.empty()) return absl::OkStatus();
  const std::string& transport = arguments.plan.transport;
  const bool other =
      transport == NameOf(Transport::kGrpc) || transport == NameOf(Transport::kInproc);
  const absl::StatusOr<std::string> text =
      os::ReadFile(os::ResolveUserPath(arguments.use_fit), os::kSettingsBytesMax);
  RETURN_IF_ERROR(Annotate(text.status(), "--use_fit is a file: "));
  ASSIGN_OR_RETURN(const allreduce::CostFit costs,
                   CostsIn(*text, arguments.use_fit, other ? transport : NameOf(Transport::kTcp)));
  arguments.plan.costs = CostsText(costs);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  SystemClock clock;
  net::PrepareGrpc();
  Arguments arguments;
  const FlagSet flags = MakeFlags(arguments);
  const absl::StatusOr<ParsedFlags> parsed = flags.Parse(argc, argv);
  if (!parsed.ok()) return Fail("comm_test", parsed.status());
  if (parsed->help) {
    std::fputs(flags.Usage().c_str(), stdout);
    return 0;
  }
  absl::Status fits =
      CheckArguments(arguments, *parsed, std::vector<std::string>(argv + 1, argv + argc));
  if (fits.ok()) fits = UseFit(arguments);
  if (!fits.ok()) return Fail("comm_test", fits);
  return arguments.rank.empty() ? MainHere(arguments, clock) : MainMember(arguments, clock);
}

}  // namespace
}  // namespace crossover::bench

int main(int argc, char** argv) { return crossover::bench::Main(argc, argv); }
