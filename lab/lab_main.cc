// The lab by hand: bring it up and look around in it, probe what this machine can imitate,
// remove what a killed process left.
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/flag_parser.h"
#include "core/status.h"
#include "lab/namespaces.h"
#include "lab/network_lab.h"
#include "lab/network_spec.h"
#include "lab/probe.h"
#include "os/termination.h"

namespace crossover::lab {
namespace {

struct Arguments {
  int64_t workers = 4;
  int64_t servers = 0;
  std::string kind = "auto";
  std::string congestion_control = "cubic";
  std::string switch_binary;
  bool unshaped = false;
};

FlagSet MakeFlags(Arguments& arguments) {
  FlagSet flags(
      "lab up SPEC | probe SPEC | clean [flags]",
      "A cluster imitated on this machine (docs/NETWORK_LAB.md); needs root. SPEC is "
      "1gbit, 1gbit,0.5ms,loss=1%, worker=1gbit,server=10gbit, or a preset: 100mbit, 1gbe "
      "or wan.");
  flags.Add({"workers", "nodes of the role worker", "4", SetWhole(&arguments.workers, 0, 200)});
  flags.Add({"servers", "nodes of the role server", "0", SetWhole(&arguments.servers, 0, 50)});
  flags.Add({"kind", "auto, kernel (bridge and qdiscs) or switch (user space)", "auto",
             SetText(&arguments.kind)});
  flags.Add({"congestion-control", "of every node's TCP", "cubic",
             SetText(&arguments.congestion_control)});
  flags.Add({"switch-binary", "the switch to start", "the one beside this program",
             SetText(&arguments.switch_binary)});
  flags.Add({"unshaped", "probe: also what the nodes reach without limits", "",
             SetBool(&arguments.unshaped), true});
  flags.AddExample("lab up 1gbit --workers=4 --servers=2", "hold a lab until Ctrl-C");
  flags.AddExample("lab probe 1gbit,0.5ms --workers=8", "can this machine imitate that?");
  flags.AddExample("lab clean", "remove what a killed process left");
  return flags;
}

absl::StatusOr<LabKind> ParseKind(const std::string& text) {
  if (text == "auto") return LabKind::kAuto;
  if (text == "kernel") return LabKind::kKernel;
  if (text == "switch") return LabKind::kSwitch;
  return absl::InvalidArgumentError(
      absl::StrCat("--kind=", text, ": allowed: auto, kernel, switch"));
}

absl::StatusOr<LabOptions> OptionsOf(const Arguments& arguments, const std::string& spec) {
  LabOptions options;
  ASSIGN_OR_RETURN(options.network, ParseNetworkSpec(spec));
  ASSIGN_OR_RETURN(options.kind, ParseKind(arguments.kind));
  options.nodes =
      WorkersAndServers(static_cast<int>(arguments.workers), static_cast<int>(arguments.servers));
  options.congestion_control = arguments.congestion_control;
  options.switch_binary = arguments.switch_binary;
  if (options.switch_binary.empty()) {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    options.switch_binary = (self.parent_path() / "switch").string();
  }
  return options;
}

absl::Status HoldUp(LabOptions options, os::Termination& termination) {
  options.cancelled = [&] { return termination.signal() != 0; };
  ASSIGN_OR_RETURN(const std::unique_ptr<NetworkLab> lab, NetworkLab::Up(options));
  std::printf("%s\n", lab->Describe().c_str());
  for (const Node& node : lab->nodes()) {
    std::printf("  %-12s %s  ip netns exec %s COMMAND\n", node.name.c_str(), node.address.c_str(),
                node.network_namespace.c_str());
  }
  std::printf("  %-12s %s  ip netns exec %s COMMAND\nCtrl-C takes it down.\n",
              lab->control().name.c_str(), lab->control().address.c_str(),
              lab->control().network_namespace.c_str());
  std::fflush(stdout);
  SystemClock clock;
  while (termination.signal() == 0) clock.SleepNs(100'000'000);
  const std::string statistics = lab->SwitchStatistics();
  if (!statistics.empty()) std::printf("switch: %s\n", statistics.c_str());
  return lab->Down();
}

absl::Status Probe(LabOptions options, bool unshaped, os::Termination& termination) {
  options.cancelled = [&] { return termination.signal() != 0; };
  ProbeOptions probe_options;
  probe_options.cancelled = options.cancelled;
  ASSIGN_OR_RETURN(const std::unique_ptr<NetworkLab> lab, NetworkLab::Up(options));
  ASSIGN_OR_RETURN(const ProbeResult result, ProbeLab(*lab, probe_options));
  std::printf("%s\n%s", lab->Describe().c_str(), ProbeText(result).c_str());
  absl::Status verdict = CheckProbe(result);
  RETURN_IF_ERROR(lab->Down());
  if (unshaped) {
    options.kind = lab->kind();
    ASSIGN_OR_RETURN(const ProbeResult free, ProbeUnshaped(options, probe_options));
    std::printf("without limits:\n%s", ProbeText(free).c_str());
  }
  if (verdict.ok()) std::printf("the machine can imitate this network\n");
  return verdict;
}

absl::Status Clean() {
  ASSIGN_OR_RETURN(const std::vector<std::string> removed, RemoveLeftovers());
  for (const std::string& name : removed) std::printf("removed %s\n", name.c_str());
  if (removed.empty()) std::printf("nothing was left behind\n");
  return absl::OkStatus();
}

absl::Status Main(int argc, char** argv, os::Termination& termination) {
  Arguments arguments;
  const FlagSet flags = MakeFlags(arguments);
  ASSIGN_OR_RETURN(const ParsedFlags parsed, flags.Parse(argc, argv));
  if (parsed.help) {
    std::fputs(flags.Usage().c_str(), stdout);
    return absl::OkStatus();
  }
  const std::vector<std::string>& words = parsed.positional;
  if (words.size() == 1 && words[0] == "clean") return Clean();
  if (words.size() != 2 || (words[0] != "up" && words[0] != "probe")) {
    return absl::InvalidArgumentError(
        "allowed: lab up SPEC, lab probe SPEC, lab clean; --help shows more");
  }
  ASSIGN_OR_RETURN(const LabOptions options, OptionsOf(arguments, words[1]));
  if (words[0] == "up") return HoldUp(options, termination);
  return Probe(options, arguments.unshaped, termination);
}

}  // namespace
}  // namespace crossover::lab

int main(int argc, char** argv) {
  crossover::os::Termination termination;
  termination.OnSignal([](int) {});
  const absl::Status status = crossover::lab::Main(argc, argv, termination);
  if (!status.ok()) std::fprintf(stderr, "lab: %s\n", std::string(status.message()).c_str());
  const int signal = termination.signal();
  if (signal != 0) return crossover::os::ExitCodeOf(signal);
  return status.ok() ? 0 : 1;
}
