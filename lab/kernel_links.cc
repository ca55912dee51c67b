#include "lab/kernel_links.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status.h"
#include "lab/command.h"
#include "lab/namespaces.h"

namespace crossover::lab {
namespace {

// tbf counts a frame without preamble, FCS and gap; the bucket's rate makes up for it for
// full frames (1538 bytes on the wire, 1514 as tbf sees them).
constexpr double kFrameShareOfWire = 1514.0 / 1538;
// The sending host's own queue: TCP keeps it short by itself.
constexpr int64_t kSenderQueueBytes = 16'000'000;
// After a silence a bucket lets so much leave at once: as little as keeps the rate.
constexpr double kTimerLatenessS = 500e-6;

std::string PortDevice(int port) { return absl::StrCat("p", port + 1); }

bool Knows(const std::string& scratch, const std::vector<std::string>& qdisc) {
  std::vector<std::string> command = {"tc", "-n", scratch, "qdisc", "replace", "dev", "lo", "root"};
  command.insert(command.end(), qdisc.begin(), qdisc.end());
  return RunCommand(command).ok();
}

// One super-frame, and what so late a timer would cost.
int64_t BucketBytes(double bits_per_s, int64_t super_frame_bytes, double lateness_s) {
  constexpr double kFramePerPayload = 1514.0 / 1448;
  return std::llround(static_cast<double>(super_frame_bytes) * kFramePerPayload +
                      bits_per_s / 8 * lateness_s);
}

std::string TokenBucket(const std::string& device, double bits_per_s, int64_t bucket_bytes,
                        int64_t queue_bytes) {
  return absl::StrFormat("qdisc add dev %s root handle 1: tbf rate %.0fbit burst %d limit %d\n",
                         device, bits_per_s * kFrameShareOfWire, bucket_bytes,
                         std::max(queue_bytes, bucket_bytes));
}

std::string Delay(const LinkSpec& link) {
  // netem counts packets, super-frames as one: more than the delay can hold, so that the
  // token bucket's queue decides.
  const int64_t packets =
      1000 + std::llround(link.rate_bits_per_s / 8 * link.delay_us * 1e-6 / 1514);
  const char* parent = link.rate_bits_per_s > 0 ? "parent 1:1 handle 10:" : "root";
  return absl::StrFormat("qdisc add dev eth0 %s netem delay %.0fus limit %d\n", parent,
                         link.delay_us, packets);
}

}  // namespace

absl::StatusOr<KernelQdiscs> FindKernelQdiscs(const std::string& scratch) {
  RETURN_IF_ERROR(AddNamespace(scratch));
  const KernelQdiscs found = {
      .tbf = Knows(scratch, {"tbf", "rate", "1gbit", "burst", "64kb", "limit", "1mb"}),
      .netem = Knows(scratch, {"netem", "delay", "1ms"})};
  RETURN_IF_ERROR(DeleteNamespace(scratch));
  return found;
}

absl::Status ConnectByBridge(const std::string& bridge_namespace,
                             const std::vector<SwitchPort>& ports, int64_t super_frame_bytes) {
  std::string links =
      "link add br0 type bridge mcast_snooping 0\n"
      "link set br0 up\n";
  std::string bridge_qdiscs;
  for (int index = 0; index < static_cast<int>(ports.size()); ++index) {
    const SwitchPort& port = ports[index];
    const std::string device = PortDevice(index);
    absl::StrAppend(&links, "link add ", device, " type veth peer name eth0 netns ",
                    port.network_namespace, "\nlink set ", device, " master br0 up\n");
    if (port.link.rate_bits_per_s > 0) {
      absl::StrAppend(&bridge_qdiscs, TokenBucket(device, port.link.rate_bits_per_s,
                                                  BucketBytes(port.link.rate_bits_per_s,
                                                              super_frame_bytes, kTimerLatenessS),
                                                  port.link.queue_bytes));
    }
  }
  RETURN_IF_ERROR(RunCommand({"ip", "-n", bridge_namespace, "-batch", "-"}, links).status());
  if (!bridge_qdiscs.empty()) {
    RETURN_IF_ERROR(
        RunCommand({"tc", "-n", bridge_namespace, "-batch", "-"}, bridge_qdiscs).status());
  }
  for (const SwitchPort& port : ports) {
    std::string qdiscs;
    if (port.link.rate_bits_per_s > 0) {
      qdiscs =
          TokenBucket("eth0", port.link.rate_bits_per_s,
                      BucketBytes(port.link.rate_bits_per_s, super_frame_bytes, kTimerLatenessS),
                      kSenderQueueBytes);
    }
    if (port.link.delay_us > 0) absl::StrAppend(&qdiscs, Delay(port.link));
    if (qdiscs.empty()) continue;
    RETURN_IF_ERROR(
        RunCommand({"tc", "-n", port.network_namespace, "-batch", "-"}, qdiscs).status());
  }
  return absl::OkStatus();
}

absl::Status HoldBackSender(const SwitchPort& port, int64_t super_frame_bytes) {
  if (port.link.rate_bits_per_s <= 0) return absl::OkStatus();
  constexpr double kShareOfRate = 0.999;  // below the switch's, or the device would fill up
  constexpr double kLatenessS = 2e-3;     // the switch limits the rate; this must not
  return RunCommand(
             {"tc", "-n", port.network_namespace, "-batch", "-"},
             TokenBucket("eth0", port.link.rate_bits_per_s * kShareOfRate,
                         BucketBytes(port.link.rate_bits_per_s, super_frame_bytes, kLatenessS),
                         kSenderQueueBytes))
      .status();
}

absl::Status SetBridgePortCut(const std::string& bridge_namespace, int port, bool cut) {
  std::vector<std::string> command = {"ip",  "-n",  bridge_namespace, "link",
                                      "set", "dev", PortDevice(port)};
  if (cut) {
    command.push_back("nomaster");
  } else {
    command.insert(command.end(), {"master", "br0"});
  }
  return RunCommand(command).status();
}

}  // namespace crossover::lab
