// The switch's program: makes the devices, prints "ready", obeys lines on standard input
// (lab/switch.h) and ends with it, that is with the process that holds the other end.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/clock.h"
#include "core/flag_parser.h"
#include "core/status.h"
#include "lab/switch.h"

namespace crossover::lab {
namespace {

// NAME,NAMESPACE,BITS_PER_S,DELAY_US,LOSS_FRACTION,QUEUE_BYTES
absl::StatusOr<SwitchPort> ParsePort(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  SwitchPort port;
  if (parts.size() != 6 || parts[0].empty() || parts[1].empty() ||
      !absl::SimpleAtod(parts[2], &port.link.rate_bits_per_s) ||
      !(port.link.rate_bits_per_s >= 0) || !absl::SimpleAtod(parts[3], &port.link.delay_us) ||
      !(port.link.delay_us >= 0) || !absl::SimpleAtod(parts[4], &port.link.loss_fraction) ||
      !(port.link.loss_fraction >= 0 && port.link.loss_fraction <= 1) ||
      !absl::SimpleAtoi(parts[5], &port.link.queue_bytes) || port.link.queue_bytes < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--port=", text,
                     ": allowed: NAME,NAMESPACE,BITS_PER_S,DELAY_US,LOSS_FRACTION,QUEUE_BYTES"));
  }
  port.name = parts[0];
  port.network_namespace = parts[1];
  return port;
}

// Late frames are this program's only fault: it asks to run before the nodes' own
// processes, and to be woken at the time it said. Refused in some containers: then it does
// without, and the probe shows what that costs.
void RaisePriority() {
  const sched_param first = {.sched_priority = 1};
  if (sched_setscheduler(0, SCHED_RR, &first) != 0) setpriority(PRIO_PROCESS, 0, -15);
  prctl(PR_SET_TIMERSLACK, 1);
}

absl::Status Main(int argc, char** argv) {
  std::vector<std::string> port_texts;
  int64_t seed = 1;
  FlagSet flags("switch --port=... [flags]",
                "A user-space Ethernet switch between network namespaces; started by the lab.");
  Flag port = {"port",
               "NAME,NAMESPACE,BITS_PER_S (0: unlimited),DELAY_US,LOSS_FRACTION,QUEUE_BYTES", "",
               AppendText(&port_texts)};
  port.repeatable = true;
  flags.Add(port);
  flags.Add(
      {"seed", "of the losses", "1", SetWhole(&seed, 0, std::numeric_limits<int64_t>::max())});
  ASSIGN_OR_RETURN(const ParsedFlags parsed, flags.Parse(argc, argv));
  if (parsed.help) {
    std::fputs(flags.Usage().c_str(), stdout);
    return absl::OkStatus();
  }
  std::vector<SwitchPort> ports;
  for (const std::string& text : port_texts) {
    ASSIGN_OR_RETURN(ports.emplace_back(), ParsePort(text));
  }
  const SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Switch> network_switch,
                   Switch::Open(ports, static_cast<uint64_t>(seed), clock));
  RaisePriority();
  std::signal(SIGPIPE, SIG_IGN);
  std::puts("ready");
  std::fflush(stdout);
  network_switch->Run(STDIN_FILENO, STDOUT_FILENO);
  return absl::OkStatus();
}

}  // namespace
}  // namespace crossover::lab

int main(int argc, char** argv) {
  const absl::Status status = crossover::lab::Main(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "switch: %s\n", std::string(status.message()).c_str());
  return 1;
}
