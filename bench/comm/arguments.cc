#include "bench/comm/arguments.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace crossover::bench {
namespace {

void AddHere(Arguments& arguments, FlagSet& flags) {
  flags.BeginGroup("On this machine");
  flags.Add({"local_ranks", "ranks to start", "2, with --hosts a rank for each slot",
             SetWhole(&arguments.local_ranks, 1, 1024)});
  flags.Add({"network", "in the network lab, each rank a node: 1gbit; 1gbit,0.5ms; ... (as root)",
             "loopback", SetText(&arguments.network)});
  flags.Add({"ranks_per_node", "in the lab, so many neighbours on each node instead", "1",
             SetWhole(&arguments.ranks_per_node, 1, 1024)});
  flags.Add({"rounds", "how often everything is measured, in turn", "1, with --target 9",
             SetWhole(&arguments.rounds, 1, 1000)});
  flags.Add({"peers",
             "time Gloo and Open MPI beside it where their packages are; or one of gloo, "
             "openmpi",
             "", SetText(&arguments.peers), true});
  flags.Add({"peers_dir", "folder that bench/peers/build has filled", "built for this run",
             SetText(&arguments.peers_directory)});
  flags.Add({"target", "measure and judge rows of the table in bench/README.md: a list, or all", "",
             SetText(&arguments.target)});
  flags.BeginGroup("On other hosts");
  flags.Add({"hosts",
             "start the ranks on these hosts over ssh; a file, one a line: ADDRESS [slots=N] "
             "[user=NAME] [port=N] [interface=NAME or CIDR]",
             "this machine", SetText(&arguments.hosts)});
  flags.Add({"ssh-option", "an option of ssh, as after its -o; may be given several times", "",
             AppendText(&arguments.ssh_options), false, /*repeatable=*/true});
  flags.Add({"remote-dir", "folder on the hosts for the program and a run's files",
             "~/.cache/crossover", SetText(&arguments.remote_dir)});
  flags.Add({"launcher-interface", "where the hosts reach this machine, as --interface",
             "the address that the hosts see ssh come from",
             SetText(&arguments.launcher_interface)});
  flags.BeginGroup("Results");
  flags.Add({"json", "file that gets every line as JSON", "none", SetText(&arguments.json)});
  flags.Add({"fit", "file for the alpha-beta fit of what was measured, JSON lines", "none",
             SetText(&arguments.fit)});
  flags.Add({"use_fit", "choose algorithms by this file of --fit, not by the shipped constants", "",
             SetText(&arguments.use_fit)});
  flags.Add({"from", "measure nothing: tables, fit and verdicts of this file of --json", "",
             SetText(&arguments.from)});
}

void AddByHand(Arguments& arguments, FlagSet& flags) {
  process::MemberFlags& member = arguments.member;
  flags.BeginGroup("One rank of several hosts, started by hand");
  flags.Add({"rank", "this process's rank, from 0", "none: starts all ranks here",
             SetText(&arguments.rank)});
  flags.Add({"world_size", "ranks of the test", "", SetWhole(&arguments.world_size, 1, 1024)});
  flags.Add({"rendezvous", "HOST:PORT where the ranks meet; rank 0 listens there", "",
             SetText(&member.rendezvous)});
  flags.Add({"rendezvous_host", "who listens there: rank0, or launcher if another program does",
             "rank0", SetText(&arguments.rendezvous_host)});
  flags.Add({"token_file", "file with the test's secret token, the same for all ranks", "",
             SetText(&member.token_path)});
  flags.Add({"interface",
             "where to listen: a name (eth0), an address, a CIDR (10.0.0.0/8), a list of these, or "
             "all but these (^docker0,lo)",
             "loopback", SetText(&member.interface)});
  flags.Add({"listen", "ADDRESS:PORT instead, for a fixed port", "", SetText(&member.listen)});
}

// What the program is used for.
enum class Mode { kHere, kTarget, kHosts, kByHand, kFrom };

struct ModeWords {
  const char* flag;  // that chooses it
  const char* why;
};
ModeWords WordsOf(Mode mode) {
  switch (mode) {
    case Mode::kHere:
      return {"", ""};
    case Mode::kTarget:
      return {"--target", "its rows say what is measured and how"};
    case Mode::kHosts:
      return {"--hosts", "hosts have a network of their own, and the peers run on this machine"};
    case Mode::kByHand:
      return {"--rank", "a rank that was started by hand measures once, with the others"};
    case Mode::kFrom:
      return {"--from", "it measures nothing"};
  }
  return {"", ""};
}

Mode ModeOf(const Arguments& arguments) {
  if (!arguments.from.empty()) return Mode::kFrom;
  if (!arguments.rank.empty()) return Mode::kByHand;
  if (!arguments.hosts.empty()) return Mode::kHosts;
  return arguments.target.empty() ? Mode::kHere : Mode::kTarget;
}

// Where the flag counts; all that are not named here say what is measured and how.
std::vector<Mode> ModesOf(const std::string& flag) {
  using enum Mode;
  static const auto* const kModes = new std::map<std::string, std::vector<Mode>>{
      {"local_ranks", {kHere, kHosts}},
      {"network", {kHere}},
      {"ranks_per_node", {kHere}},
      {"rounds", {kHere, kTarget, kHosts}},
      {"peers", {kHere}},
      {"peers_dir", {kHere, kTarget}},
      {"target", {kTarget, kFrom}},
      {"budget_s", {kHere, kTarget, kHosts, kByHand}},
      {"hosts", {kHosts}},
      {"ssh-option", {kHosts}},
      {"remote-dir", {kHosts}},
      {"launcher-interface", {kHosts}},
      {"json", {kHere, kTarget, kHosts, kByHand}},
      {"fit", {kHere, kTarget, kHosts, kByHand, kFrom}},
      {"from", {kFrom}},
      {"rank", {kByHand}},
      {"world_size", {kByHand}},
      {"rendezvous", {kByHand}},
      {"rendezvous_host", {kByHand}},
      {"token_file", {kByHand}},
      {"interface", {kHosts, kByHand}},
      {"listen", {kByHand}},
  };
  const auto found = kModes->find(flag);
  return found == kModes->end() ? std::vector<Mode>{kHere, kHosts, kByHand} : found->second;
}

// Refuses a flag that the mode would ignore.
absl::Status CheckMode(Mode mode, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::vector<Mode> modes = ModesOf(word.substr(2, word.find('=') - 2));
    if (std::find(modes.begin(), modes.end(), mode) != modes.end()) continue;
    if (mode == Mode::kHere) {
      return absl::InvalidArgumentError(absl::StrCat(
          word, ": means nothing without ", WordsOf(modes.back()).flag, "; fix: leave it out"));
    }
    return absl::InvalidArgumentError(
        absl::StrCat(WordsOf(mode).flag, ": ", WordsOf(mode).why, "; fix: leave out ", word));
  }
  return absl::OkStatus();
}

// An empty value is most likely that of a variable that was never set.
absl::Status CheckNoneIsEmpty(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const bool may_be = word == "--congestion_control=" || word == "--costs=";
    if (may_be || word.empty() || word.back() != '=') continue;
    return absl::InvalidArgumentError(
        absl::StrCat(word, ": no value; fix: leave it out, or say which"));
  }
  return absl::OkStatus();
}

// Refuses a fit by which nothing would be chosen.
absl::Status CheckFitIsUsed(const PlanFlags& plan) {
  std::string beside;
  if (plan.transport == NameOf(Transport::kSharedMemory)) beside = "--transport=shared_memory";
  if (plan.algorithm != PlanFlags().algorithm) beside = "--algorithm=" + plan.algorithm;
  if (!plan.costs.empty()) beside = "--costs=" + plan.costs;
  if (beside.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--use_fit: nothing is chosen by it beside ",
                                                 beside, "; fix: leave out one of the two"));
}

}  // namespace

FlagSet MakeFlags(Arguments& arguments) {
  FlagSet flags("comm_test [flags]",
                "Times collectives and checks every element: the test to run before training.");
  AddPlanFlags(arguments.plan, flags);
  AddHere(arguments, flags);
  AddByHand(arguments, flags);
  flags.AddExample("bazel run //bench:comm_test -- --local_ranks=4", "four ranks on this machine");
  flags.AddExample("bazel run //bench:comm_test -- --local_ranks=4 --network=1gbit,0.5ms",
                   "the same in the network lab (as root)");
  flags.AddExample("bazel run //bench:comm_test -- --peers --rounds=9 --in_place=in",
                   "beside Gloo and Open MPI");
  flags.AddExample(
      "comm_test --rank=1 --world_size=2 --rendezvous=10.0.0.1:29500 --token_file=token "
      "--interface=10.0.0.0/24",
      "the second rank of two hosts");
  return flags;
}

absl::Status CheckArguments(const Arguments& arguments, const ParsedFlags& parsed,
                            const std::vector<std::string>& words) {
  const auto refuse = [](const std::string& why) { return absl::InvalidArgumentError(why); };
  if (!parsed.positional.empty()) {
    return refuse(absl::StrCat("'", parsed.positional.front(),
                               "': not a flag; fix: begin flags with --, as --help lists them"));
  }
  RETURN_IF_ERROR(CheckNoneIsEmpty(words));
  const bool by_hand = !arguments.rank.empty();
  if (by_hand && arguments.world_size == 0) {
    return refuse("--world_size: missing; --rank says that this is one rank of several");
  }
  if (!by_hand && (arguments.world_size > 0 || !arguments.member.rendezvous.empty())) {
    return refuse("--rank: missing; fix: --rank=0 on the host that --rendezvous names, and so on");
  }
  RETURN_IF_ERROR(CheckMode(ModeOf(arguments), words));
  if (!arguments.peers_directory.empty() && arguments.peers.empty() && arguments.target.empty()) {
    return refuse("--peers_dir: goes with --peers or --target; fix: leave it out, or --peers");
  }
  const bool elsewhere = !arguments.hosts.empty() || by_hand;
  const bool in_lab = !arguments.network.empty() && arguments.network != "loopback";
  if (arguments.plan.transport == NameOf(Transport::kInproc) && (elsewhere || in_lab)) {
    return refuse(
        "--transport=inproc: its ranks are threads of one process, and no network lies between "
        "them; fix: leave out --network, --hosts and --rank");
  }
  if (arguments.plan.transport == NameOf(Transport::kSharedMemory) && in_lab &&
      arguments.ranks_per_node == 1) {
    return refuse(
        "--transport=shared_memory: each rank is a node of its own in the lab, and nodes share no "
        "memory; fix: leave out --network, or --transport=auto with --ranks_per_node");
  }
  if (!arguments.use_fit.empty()) RETURN_IF_ERROR(CheckFitIsUsed(arguments.plan));
  if (arguments.ranks_per_node > 1 &&
      (!in_lab || !arguments.peers.empty() || !arguments.fit.empty())) {
    return refuse("--ranks_per_node: goes with --network, and without --peers and --fit");
  }
  if (arguments.ranks_per_node > 1 && arguments.ranks_per_node >= arguments.local_ranks) {
    return refuse("--ranks_per_node: less than --local_ranks, so that there are several nodes");
  }
  if (arguments.rendezvous_host != "rank0" && arguments.rendezvous_host != "launcher") {
    return refuse(absl::StrCat("--rendezvous_host=", arguments.rendezvous_host,
                               ": allowed: rank0, launcher"));
  }
  return absl::OkStatus();
}

}  // namespace crossover::bench
