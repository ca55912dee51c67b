#include "lab/probe_result.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace crossover::lab {
namespace {

constexpr double kTolerance = 0.02;
constexpr double kRttSlackUs = 1000;  // of two hosts' stacks and schedulers on a busy machine

std::string MegabytesText(double bytes_per_s) {
  return absl::StrFormat("%.4g MB/s", bytes_per_s / 1e6);
}

std::string PromiseText(double promised) {
  return promised > 0 ? absl::StrFormat(" of %.4g", promised / 1e6) : "";
}

// Of one direction, at the worst node.
struct Worst {
  double off = 0;  // |found / promised - 1|
  double ratio = 1;
  std::string text;
  void Look(const std::string& node, const char* verb, double found, double promised) {
    if (promised <= 0 || std::abs(found / promised - 1) <= off) return;
    ratio = found / promised;
    off = std::abs(ratio - 1);
    text = absl::StrCat(node, " ", verb, " ", MegabytesText(found), " where ",
                        MegabytesText(promised), " were promised");
  }
};

}  // namespace

double TotalBytesPerS(const ProbeResult& result) {
  double total = 0;
  for (const ProbedNode& node : result.nodes) total += node.receive_bytes_per_s;
  return total;
}

absl::Status CheckRates(const ProbeResult& result) {
  Worst worst;
  double least = 1;
  for (const ProbedNode& node : result.nodes) {
    worst.Look(node.name, "sends", node.send_bytes_per_s, node.promised_send_bytes_per_s);
    worst.Look(node.name, "receives", node.receive_bytes_per_s, node.promised_receive_bytes_per_s);
    least = std::min(least, worst.ratio);
  }
  if (worst.off <= kTolerance) return absl::OkStatus();
  std::string fix = "the limits do not hold; is the kernel's or the switch's path bypassed?";
  if (least < 1) {
    fix = absl::StrFormat(
        "this machine reaches %s with all nodes at once; ask for %.0f%% of the rate or less, or "
        "for fewer nodes, or end what else runs here",
        MegabytesText(TotalBytesPerS(result)), std::floor(90 * least));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the network lab (", result.lab,
                   ") does not keep its rates within 2%: ", worst.text, "; ", fix));
}

absl::Status CheckProbe(const ProbeResult& result) {
  if (absl::Status rates = CheckRates(result); !rates.ok()) return rates;
  for (const ProbedNode& node : result.nodes) {
    if (node.next.empty()) continue;
    const double least = node.promised_rtt_us * (1 - kTolerance);
    const double most = node.promised_rtt_us * (1 + kTolerance) + kRttSlackUs;
    if (node.rtt_us_min >= least && node.rtt_us_min <= most) continue;
    return absl::FailedPreconditionError(absl::StrFormat(
        "the network lab (%s) does not keep its delay: the shortest round trip from %s to %s is "
        "%.0f us; allowed: %.0f to %.0f us; %s",
        result.lab, node.name, node.next, node.rtt_us_min, least, most,
        node.rtt_us_min > most ? "end what else runs here" : "the delay does not work"));
  }
  return absl::OkStatus();
}

std::string ProbeText(const ProbeResult& result) {
  std::string text;
  for (const ProbedNode& node : result.nodes) {
    absl::StrAppendFormat(
        &text, "  %-10s sends %s%s, receives %s%s, retransmits %d", node.name,
        MegabytesText(node.send_bytes_per_s), PromiseText(node.promised_send_bytes_per_s),
        MegabytesText(node.receive_bytes_per_s), PromiseText(node.promised_receive_bytes_per_s),
        node.retransmitted_segments);
    if (!node.next.empty()) {
      absl::StrAppendFormat(&text, "; round trip to %s %.0f us, median %.0f", node.next,
                            node.rtt_us_min, node.rtt_us_median);
    }
    absl::StrAppend(&text, "\n");
  }
  absl::StrAppend(&text, "  all        ", MegabytesText(TotalBytesPerS(result)), " together\n");
  return text;
}

}  // namespace crossover::lab
