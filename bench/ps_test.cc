// Times push and pull through the parameter servers, as comm_test times collectives: with real
// processes, on loopback or in the network lab, beside the raw streams of the same links, and with
// every element of what comes back checked.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/ps/push_pull_results.h"
#include "bench/ps/push_pull_rounds.h"
#include "bench/ps/push_pull_setup.h"
#include "bench/ps/push_pull_targets.h"
#include "bench/shared/scratch_folder.h"
#include "bench/shared/verdict.h"
#include "core/clock.h"
#include "core/flag_parser.h"
#include "core/status.h"
#include "experiments/launch/signal_waiter.h"
#include "net/grpc_setup.h"
#include "os/environment.h"
#include "os/files.h"
#include "os/termination.h"

namespace crossover::bench {
namespace {

constexpr int64_t kTargetRounds = 9;

struct Arguments {
  PushPullFlags setup;
  int64_t rounds = 0;  // 0: one, with --target nine
  std::string target;
  std::string json;
};

FlagSet MakeFlags(Arguments& arguments) {
  FlagSet flags("ps_test [flags]",
                "Times push and pull through the parameter servers and checks every element.");
  AddSetupFlags(arguments.setup, flags);
  flags.BeginGroup("Results");
  flags.Add({"rounds", "how often everything is measured, in turn", "1, with --target 9",
             SetWhole(&arguments.rounds, 1, 1000)});
  flags.Add({"target", "measure and judge rows of the table in bench/README.md: a list, or all", "",
             SetText(&arguments.target)});
  flags.Add({"json", "file that gets every line as JSON", "none", SetText(&arguments.json)});
  flags.AddExample("bazel run //bench:ps_test", "one worker and one server on loopback");
  flags.AddExample(
      "bazel run //bench:ps_test -- --workers=4 --servers=4 --network=1gbit --sizes=16M "
      "--beside=ring",
      "in the network lab (as root), beside our ring");
  return flags;
}

// What is to be measured: as the flags say, or the rows of --target.
struct Wanted {
  std::vector<PushPullTarget> targets;
  std::vector<PushPullSetup> setups;
};

// Refuses a flag that --target would ignore. `words` is the command line without the program.
absl::Status CheckGoesWithTarget(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (name == "--target" || name == "--rounds" || name == "--json") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--target: its rows say what is measured and how; fix: leave out ", word));
  }
  return absl::OkStatus();
}

absl::StatusOr<Wanted> WantedOf(const Arguments& arguments, const std::vector<std::string>& words) {
  Wanted wanted;
  std::vector<PushPullFlags> runs = {arguments.setup};
  if (!arguments.target.empty()) {
    RETURN_IF_ERROR(CheckGoesWithTarget(words));
    ASSIGN_OR_RETURN(wanted.targets, TargetsNamed(arguments.target, AllPushPullTargets()));
    runs.clear();
    for (const PushPullTarget& target : wanted.targets) {
      runs.insert(runs.end(), target.runs.begin(), target.runs.end());
    }
  }
  for (const PushPullFlags& run : runs) {
    ASSIGN_OR_RETURN(wanted.setups.emplace_back(), ReadSetup(run));
  }
  return wanted;
}

absl::Status Measure(const Wanted& wanted, int64_t rounds, PushPullResults& results,
                     experiments::SignalWaiter& signals, Clock& clock) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::Make("ps_test"));
  PushPullRoundsOptions options;
  options.rounds = rounds;
  options.directory = scratch->path();
  options.worker_binary = os::SiblingBinary("bench/ps_worker");
  options.server_binary = os::SiblingBinary("ps/server");
  options.comm_binary = os::SiblingBinary("bench/comm_test");
  options.say = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  options.found = [&results](const PushPullRecord& record) { results.Take(record); };
  options.found_beside = [&results](const Record& record) { results.Take(record); };
  for (const PushPullSetup& setup : wanted.setups) {
    options.setup = setup;
    RETURN_IF_ERROR(RunPushPullRounds(options, signals, clock));
    options.first_round += rounds;
  }
  return absl::OkStatus();
}

absl::Status Judge(const std::vector<PushPullTarget>& targets, const PushPullResults& results) {
  const std::vector<PushPullSeries> all = SeriesOf(results.lines());
  std::string missed;
  for (const PushPullTarget& target : targets) {
    const std::vector<Verdict> verdicts = target.judge(all);
    std::fputs(VerdictText(target.name, target.says, verdicts).c_str(), stdout);
    NoteMissed(target.name, verdicts, missed);
  }
  std::fflush(stdout);
  return MissedError(missed);
}

absl::Status Run(const Arguments& arguments, const std::vector<std::string>& words,
                 experiments::SignalWaiter& signals, Clock& clock) {
  ASSIGN_OR_RETURN(const Wanted wanted, WantedOf(arguments, words));
  PushPullResults results(os::ResolveUserPath(arguments.json));
  RETURN_IF_ERROR(results.Begin());
  const int64_t rounds_by_default = wanted.targets.empty() ? 1 : kTargetRounds;
  const int64_t rounds = arguments.rounds > 0 ? arguments.rounds : rounds_by_default;
  const absl::Status status = Measure(wanted, rounds, results, signals, clock);
  if (absl::IsCancelled(status)) return status;
  // What came before a failure is worth showing.
  const absl::Status reported = results.Report();
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(reported);
  return Judge(wanted.targets, results);
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "ps_test: %s\n", std::string(status.message()).c_str());
  return 1;
}

int Main(int argc, char** argv) {
  SystemClock clock;
  net::PrepareGrpc();
  Arguments arguments;
  const FlagSet flags = MakeFlags(arguments);
  const absl::StatusOr<ParsedFlags> parsed = flags.Parse(argc, argv);
  if (!parsed.ok()) return Fail(parsed.status());
  if (parsed->help) {
    std::fputs(flags.Usage().c_str(), stdout);
    return 0;
  }
  if (!parsed->positional.empty()) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("'", parsed->positional.front(),
                     "': not a flag; fix: begin flags with --, as --help lists them")));
  }
  experiments::SignalWaiter signals;  // before any thread
  const absl::Status status = Run(arguments, {argv + 1, argv + argc}, signals, clock);
  if (status.ok()) return 0;
  Fail(status);
  return absl::IsCancelled(status) ? os::ExitCodeOf(signals.ended_by()) : 1;
}

}  // namespace
}  // namespace crossover::bench

int main(int argc, char** argv) { return crossover::bench::Main(argc, argv); }
