#include "experiments/compare_network.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/emulation.h"
#include "core/status.h"
#include "experiments/network_choice.h"
#include "lab/congestion_control.h"
#include "net/local_address.h"
#include "os/files.h"

namespace crossover::experiments {
namespace {

absl::Status UseThisMachine(const std::string& interface, ProgressPrinter& progress,
                            ComparisonOptions& options) {
  const absl::StatusOr<net::AddressChoice> address = net::LocalAddress(interface);
  RETURN_IF_ERROR(Annotate(address.status(), absl::StrCat("--interface=", interface, ": ")));
  progress.Say(absl::StrCat("listening on ", net::DescribeChoice(*address)));
  options.sites = OneMachine(address->address);
  options.network.interface = address->address;
  // Processes of one machine talk through its loopback whatever address they use.
  options.network.loopback = true;
  options.network.kind = "loopback";
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<LabSession>> StartLab(const NetworkChoice& choice,
                                                     SignalWaiter& signals,
                                                     ProgressPrinter& progress,
                                                     const ComparisonOptions& options) {
  LabSessionOptions lab;
  lab.choice = choice;
  lab.runs = options.runs;
  lab.switch_binary = os::SiblingBinary("lab/switch");
  lab.keeper_binary = os::SiblingBinary("lab/keeper");
  lab.cancelled = [&signals] {
    signals.Wait(0);
    return signals.ended_by() != 0;
  };
  lab.say = [&progress](const std::string& line) { progress.Say(line); };
  return LabSession::Start(lab);
}

// Whether a lab will be made, as far as can be told before one is tried.
bool MeansLab(const Arguments& arguments, const NetworkChoice& choice) {
  if (!choice.spec.shaped() || !arguments.hosts.empty()) return false;
  return choice.asked || (geteuid() == 0 && arguments.interface.empty());
}

absl::Status CheckControl(const Arguments& arguments, const NetworkChoice& choice,
                          const proto::Job& job) {
  const std::string& control = job.comparison().congestion_control();
  const bool sets_one = SetsCongestionControl(job);
  if (MeansLab(arguments, choice)) {
    // A lab that nobody asked for gives way, whatever it lacks.
    if (!choice.asked && !sets_one) return absl::OkStatus();
    return Annotate(lab::CheckCongestionControl(control), "comparison.congestion_control: ");
  }
  if (!sets_one) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "comparison.congestion_control is ", control,
      "; allowed: nothing where no network lab is made, the only place where it is set; fix: leave "
      "it out, or --network=",
      kDefaultNetwork, " as root"));
}

}  // namespace

absl::Status CheckNetworkWords(const Arguments& arguments, const std::vector<PlannedRun>& runs) {
  for (const PlannedRun& run : runs) {
    // Who may make a lab is asked when one is made.
    ASSIGN_OR_RETURN(const NetworkChoice choice, ChooseNetwork(run.job, /*is_root=*/true));
    if (!arguments.interface.empty() && choice.asked && choice.spec.shaped()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--interface=", arguments.interface, " with comparison.network ",
          run.job.comparison().network(),
          ": an interface of this machine is no place in a lab; fix: leave out one of the two"));
    }
    RETURN_IF_ERROR(CheckControl(arguments, choice, run.job));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<LabSession>> SetUpNetwork(const Arguments& arguments,
                                                         SignalWaiter& signals,
                                                         ProgressPrinter& progress,
                                                         ComparisonOptions& options) {
  if (options.hosts != nullptr) return nullptr;  // they have a network of their own
  // An interface of this machine is no place in a lab.
  const bool may_make_lab = geteuid() == 0 && arguments.interface.empty();
  ASSIGN_OR_RETURN(const NetworkChoice choice,
                   ChooseNetwork(options.runs.front().job, may_make_lab));
  if (!choice.spec.shaped()) {
    RETURN_IF_ERROR(UseThisMachine(arguments.interface, progress, options));
    return nullptr;
  }
  absl::StatusOr<std::unique_ptr<LabSession>> session =
      StartLab(choice, signals, progress, options);
  // An emulated job belongs to a link: another one would be another experiment.
  const bool fixed = choice.asked || IsEmulated(options.runs.front().job);
  // A slower lab still tells more of a cluster than loopback does.
  for (const char* slower : {"500mbit", "200mbit", "100mbit"}) {
    if (fixed || !absl::IsFailedPrecondition(session.status())) break;
    progress.Say(absl::StrCat(std::string(session.status().message()), "; so ", slower));
    NetworkChoice next = choice;
    ASSIGN_OR_RETURN(next.spec, lab::ParseNetworkSpec(slower));
    session = StartLab(next, signals, progress, options);
  }
  if (session.ok()) {
    options.sites = (*session)->sites();
    options.network = (*session)->network();
    return session;
  }
  const bool needs_lab = fixed || SetsCongestionControl(options.runs.front().job);
  if (needs_lab || absl::IsCancelled(session.status())) return session.status();
  progress.Say(
      absl::StrCat("no network lab, so the runs use loopback and say nothing of a cluster: ",
                   std::string(session.status().message())));
  RETURN_IF_ERROR(UseThisMachine(arguments.interface, progress, options));
  return nullptr;
}

}  // namespace crossover::experiments
