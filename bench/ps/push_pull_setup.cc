#include "bench/ps/push_pull_setup.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "bench/shared/sizes.h"
#include "bench/shared/test_lab.h"
#include "core/data_type.h"
#include "core/status.h"
#include "proto/job.pb.h"
#include "ps/wire.h"

namespace crossover::bench {
namespace {

constexpr char kDedicated[] = "dedicated";
constexpr char kColocated[] = "colocated";

absl::Status Refuse(const std::string& why) { return absl::InvalidArgumentError(why); }

absl::Status CheckSizes(const std::vector<int64_t>& sizes) {
  for (const int64_t bytes : sizes) {
    if (bytes > 0 && bytes % 4 == 0) continue;
    return Refuse(absl::StrCat("--sizes: ", bytes,
                               " bytes; allowed: multiples of 4 above 0, since values are fp32"));
  }
  return absl::OkStatus();
}

absl::Status CheckPlaces(const PushPullFlags& values, const PushPullSetup& setup) {
  if (values.placement != kDedicated && values.placement != kColocated) {
    return Refuse(absl::StrCat("--placement=", values.placement, ": allowed: ", kDedicated, ", ",
                               kColocated));
  }
  if (!NamesLab(setup.network)) {
    if (setup.colocated) {
      return Refuse(
          "--placement=colocated: on loopback all processes share one machine; fix: add "
          "--network=1gbit");
    }
    if (setup.workers_per_node > 1) {
      return Refuse("--workers_per_node: goes with --network; fix: add --network=1gbit");
    }
    return absl::OkStatus();
  }
  if (setup.plan.workers % setup.workers_per_node != 0) {
    return Refuse(absl::StrCat("--workers_per_node=", setup.workers_per_node,
                               ": allowed: a divisor of the ", setup.plan.workers, " workers"));
  }
  if (setup.colocated && setup.workers_per_node > 1) {
    return Refuse("--workers_per_node: goes with --placement=dedicated alone");
  }
  if (setup.colocated && setup.plan.workers == 1) {
    return Refuse(
        "--placement=colocated: with one worker nothing would cross a link; fix: --workers=2 or "
        "more, or --placement=dedicated");
  }
  return absl::OkStatus();
}

}  // namespace

void AddSetupFlags(PushPullFlags& values, FlagSet& flags) {
  flags.BeginGroup("What is measured");
  flags.Add(
      {"workers", "processes that push and pull", "1", SetWhole(&values.plan.workers, 1, 1024)});
  flags.Add(
      {"servers", "processes that hold the model", "1", SetWhole(&values.plan.servers, 1, 1024)});
  flags.Add(
      {"sizes", "bytes of the model: 4K,16M or 4K:64M:x4", values.sizes, SetText(&values.sizes)});
  AddPushPullFlags(values.plan, flags);
  flags.Add({"beside", "ring: our ring AllReduce among the workers too, in turn", "",
             SetText(&values.beside)});
  flags.BeginGroup("Where");
  flags.Add({"network", "in the network lab: 1gbit; 1gbit,0.5ms; ... (as root)", "loopback",
             SetText(&values.network)});
  flags.Add({"placement",
             "in the lab: dedicated, a node for each server; colocated, server s on worker s's",
             values.placement, SetText(&values.placement)});
  flags.Add({"workers_per_node", "in the lab, so many neighbours on each worker's node", "1",
             SetWhole(&values.workers_per_node, 1, 1024)});
  flags.BeginGroup("How");
  flags.Add({"strategy", "ps_sync, or ps_async: no worker waits for another", "ps_sync",
             SetText(&values.plan.strategy)});
  flags.Add({"part_bytes", "of the pieces in which values travel", "65536",
             SetWhole(&values.plan.part_bytes, 4, 1 << 30)});
  flags.Add({"credits", "parts that a worker has under way to a server", "8",
             SetWhole(&values.plan.credits, 1, 1'000'000)});
  flags.Add({"set", "another field of the job's ps: ps.channels=2; may be given several times", "",
             AppendText(&values.plan.settings), false, /*repeatable=*/true});
  flags.Add({"deadline_s", "seconds without a sign of a process until that is an error", "60",
             SetReal(&values.plan.deadline_s, 0.5, 3600)});
}

absl::StatusOr<PushPullSetup> ReadSetup(const PushPullFlags& values) {
  PushPullSetup setup;
  setup.plan = values.plan;
  const absl::StatusOr<std::vector<int64_t>> sizes = ParseSizes(values.sizes);
  RETURN_IF_ERROR(Annotate(sizes.status(), "--sizes: "));
  RETURN_IF_ERROR(CheckSizes(*sizes));
  setup.sizes = *sizes;
  setup.network = NamesLab(values.network) ? values.network : "";
  setup.colocated = values.placement == kColocated;
  setup.workers_per_node = values.workers_per_node;
  RETURN_IF_ERROR(CheckPlaces(values, setup));
  if (values.plan.part_bytes % 4 != 0) {
    return Refuse(absl::StrCat("--part_bytes=", values.plan.part_bytes,
                               ": allowed: a multiple of 4, since values are fp32"));
  }
  if (!values.beside.empty() && values.beside != "ring") {
    return Refuse(absl::StrCat("--beside=", values.beside, ": allowed: ring"));
  }
  setup.ring = !values.beside.empty();
  if (setup.ring && setup.plan.workers == 1) {
    return Refuse("--beside=ring: one worker makes no ring; fix: --workers=2 or more");
  }
  ASSIGN_OR_RETURN(const proto::Job job, JobFor(setup.plan));  // and what only the job refuses
  setup.wire_bytes = static_cast<int64_t>(BytesOf(ps::WireTypeOf(job)));
  return setup;
}

double BoundUs(const PushPullSetup& setup, int64_t bytes, double bytes_per_s) {
  if (bytes_per_s <= 0) return 0;
  const double model = static_cast<double>(bytes) * static_cast<double>(setup.wire_bytes) / 4;
  const auto workers = static_cast<double>(setup.plan.workers);
  const auto servers = static_cast<double>(setup.plan.servers);
  double busiest = 0;
  if (setup.network.empty()) {
    // One machine's, which carries every push and every reply once.
    busiest = 2 * model * workers / (workers + servers);
  } else if (setup.colocated) {
    // A node with k servers gets their shares from the N - 1 other workers, and for its own worker
    // what the S - k other servers hold. A node without any gets the model.
    const double most = std::ceil(servers / workers);
    busiest = model * (most * (workers - 2) + servers) / servers;
    if (servers < workers) busiest = std::max(busiest, model);
  } else {
    busiest =
        std::max(model * static_cast<double>(setup.workers_per_node), model * workers / servers);
  }
  return busiest / bytes_per_s * 1e6;
}

int64_t WorkerNodes(const PushPullSetup& setup) {
  return setup.plan.workers / setup.workers_per_node;
}

}  // namespace crossover::bench
