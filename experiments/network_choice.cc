#include "experiments/network_choice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/emulation.h"
#include "core/status.h"

namespace crossover::experiments {
namespace {

constexpr double kTrafficShareMax = 0.3;

}  // namespace

absl::StatusOr<NetworkChoice> ChooseNetwork(const proto::Job& job, bool is_root) {
  NetworkChoice choice;
  choice.asked = job.comparison().has_network();
  if (!choice.asked && !is_root) return choice;
  const std::string text = choice.asked ? job.comparison().network() : kDefaultNetwork;
  absl::StatusOr<lab::NetworkSpec> spec = lab::ParseNetworkSpec(text);
  RETURN_IF_ERROR(Annotate(spec.status(), absl::StrCat("comparison.network is ", text, ": ")));
  if (spec->shaped() && !is_root) {
    return absl::PermissionDeniedError(
        absl::StrCat("--network=", text,
                     ": a network lab needs root (it makes network namespaces); fix: run it with "
                     "sudo, or --network=loopback"));
  }
  choice.spec = *std::move(spec);
  return choice;
}

bool SetsCongestionControl(const proto::Job& job) {
  return job.comparison().congestion_control() !=
         proto::Comparison::default_instance().congestion_control();
}

double EmulatedTrafficBytesPerS(const proto::Job& job, const lab::NetworkSpec& scaled) {
  double compute_s = 0, model_bytes = 0;
  for (const EmulatedLayer& layer : ScaledLayers(job.emulated())) {
    compute_s += static_cast<double>(layer.forward_ns + layer.backward_ns) * 1e-9;
    model_bytes += static_cast<double>(layer.values) * 4;
  }
  const double rate_bits_per_s = scaled.LinkOf("worker").rate_bits_per_s;
  double step_s = compute_s;
  if (rate_bits_per_s > 0) {
    step_s = std::max(step_s, model_bytes / lab::TcpPayloadBytesPerS(rate_bits_per_s));
  }
  return step_s > 0 ? 2 * job.workers() * model_bytes / step_s : 0;
}

absl::Status CheckEmulatedTraffic(const proto::Job& job, const lab::NetworkSpec& scaled,
                                  double unshaped_bytes_per_s) {
  const double traffic = EmulatedTrafficBytesPerS(job, scaled);
  const double allowed = kTrafficShareMax * unshaped_bytes_per_s;
  if (traffic <= allowed) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "the emulated job sends up to %.0f MB/s over all nodes; allowed: %.0f MB/s, 30%% of what "
      "this machine's nodes carried together without limits; fix: raise --emulated.bytes_scale "
      "or --emulated.time_scale (now %g and %g) by %.2f times or more",
      traffic * 1e-6, allowed * 1e-6, job.emulated().bytes_scale(), job.emulated().time_scale(),
      traffic / std::max(allowed, 1.0)));
}

}  // namespace crossover::experiments
