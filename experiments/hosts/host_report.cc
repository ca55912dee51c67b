#include "experiments/hosts/host_report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

constexpr double kClockWarningS = 60;

std::string RateText(double bytes_per_s) {
  return absl::StrFormat("%8.1f MB/s", bytes_per_s * 1e-6);
}

}  // namespace

std::string HostsText(const HostsReport& report) {
  std::string text;
  size_t width = 0;
  for (const HostFacts& host : report.hosts) width = std::max(width, host.name.size());
  const int name_width = static_cast<int>(width);
  for (const HostFacts& host : report.hosts) {
    absl::StrAppend(&text, absl::StrFormat("  %-*s  ", name_width, host.name),
                    absl::StrJoin(host.processes, ", "), "; ", host.cores, " cores, ", host.kernel,
                    ", clock ", host.clock_offset_s < 0 ? "" : "+",
                    FormatSeconds(host.clock_offset_s), " (within ",
                    FormatSeconds(host.clock_error_s), ")\n    listens on ", host.choice, "\n");
  }
  if (!report.pairs.empty()) {
    absl::StrAppend(&text, "  each pair by itself:                 round trip          rate\n");
  }
  for (const PairResult& pair : report.pairs) {
    absl::StrAppend(
        &text, absl::StrFormat("    %-*s -> %-*s  %8.0f us  %s\n", name_width,
                               report.hosts[pair.from].name, name_width, report.hosts[pair.to].name,
                               pair.alone.rtt_us, RateText(pair.alone.bytes_per_s)));
  }
  if (!report.together_bytes_per_s.empty()) {
    absl::StrAppend(&text, "  all at once, each to the next:\n");
  }
  for (size_t i = 0; i < report.together_bytes_per_s.size(); ++i) {
    absl::StrAppend(&text, absl::StrFormat("    %-*s -> %-*s               %s\n", name_width,
                                           report.hosts[i].name, name_width,
                                           report.hosts[(i + 1) % report.hosts.size()].name,
                                           RateText(report.together_bytes_per_s[i])));
  }
  return text;
}

std::vector<std::string> ClockWarnings(const HostsReport& report) {
  std::vector<std::string> warnings;
  for (const HostFacts& host : report.hosts) {
    if (std::abs(host.clock_offset_s) - host.clock_error_s <= kClockWarningS) continue;
    warnings.push_back(absl::StrCat(
        "the clock of ", host.name, " is ", FormatSeconds(std::abs(host.clock_offset_s)),
        host.clock_offset_s < 0 ? " behind" : " ahead of",
        " this machine's; measurements are aligned at the rendezvous and do not depend on it, "
        "dates in that host's own files do"));
  }
  return warnings;
}

Network NetworkOfHosts(const HostsReport& report) {
  Network network;
  network.kind = "hosts";
  std::vector<std::string> addresses;
  network.loopback = true;
  const size_t hosts = report.hosts.size();
  for (size_t i = 0; i < hosts; ++i) {
    const HostFacts& host = report.hosts[i];
    addresses.push_back(host.address);
    network.loopback =
        network.loopback && (host.address.starts_with("127.") || host.address == "::1");
    ProbedNode node;
    node.name = host.name;
    node.clock_offset_s = host.clock_offset_s;
    node.clock_error_s = host.clock_error_s;
    if (!report.together_bytes_per_s.empty()) {
      node.send_bytes_per_s = report.together_bytes_per_s[i];
      node.receive_bytes_per_s = report.together_bytes_per_s[(i + hosts - 1) % hosts];
    }
    for (const PairResult& pair : report.pairs) {
      const bool is_next =
          pair.from == static_cast<int>(i) && pair.to == static_cast<int>((i + 1) % hosts);
      if (is_next) node.rtt_us = pair.alone.rtt_us;
    }
    network.probe.push_back(node);
  }
  network.interface = absl::StrJoin(addresses, ", ");
  // Processes of one host talk through its loopback whatever address they use.
  network.loopback = network.loopback || hosts == 1;
  return network;
}

}  // namespace crossover::experiments
