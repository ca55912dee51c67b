#include "experiments/dry_run.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/emulation.h"
#include "core/strategy_traits.h"

namespace crossover::experiments {
namespace {

// Resident memory of a process before it holds a buffer of ours: a worker with
// LibTorch loaded, a server with gRPC alone (measured; Debian 12).
constexpr int64_t kWorkerBaseBytes = int64_t{190} << 20;
constexpr int64_t kServerBaseBytes = int64_t{30} << 20;

int64_t OptimizerStates(const proto::Optimizer& optimizer) {
  switch (optimizer.name()) {
    case proto::OptimizerKind::sgd:
      return 0;
    case proto::OptimizerKind::momentum:
    case proto::OptimizerKind::nesterov:
      return 1;
    case proto::OptimizerKind::adam:
      return 2;
  }
  return 0;
}

// "1 run", "2 runs".
std::string Count(int64_t count, const std::string& one) {
  return absl::StrCat(count, " ", one, count == 1 ? "" : "s");
}

// How often a strategy synchronises: "step", "7.7 steps".
std::string Interval(double synchronisations_per_step) {
  if (synchronisations_per_step <= 0) return "-";
  const std::string steps = absl::StrFormat("%.1f", 1 / synchronisations_per_step);
  return steps == "1.0" ? "step" : steps + " steps";
}

std::string Mebibytes(int64_t bytes) {
  return absl::StrFormat("%.0f MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string Bytes(double bytes) {
  if (bytes < 1e3) return absl::StrFormat("%.0f B", bytes);
  if (bytes < 1e6) return absl::StrFormat("%.1f kB", bytes / 1e3);
  if (bytes < 1e9) return absl::StrFormat("%.2f MB", bytes / 1e6);
  return absl::StrFormat("%.2f GB", bytes / 1e9);
}

}  // namespace

RunSize SizeOfRun(const proto::Job& job, const JobSize& size) {
  RunSize run;
  run.workers = WorkerProcesses(job);
  run.servers = UsesServers(job) ? job.servers() : 0;
  const StrategyTraits traits = TraitsOf(job);
  run.bytes_per_synchronisation =
      BytesPerSynchronisation(job, 4.0 * static_cast<double>(size.parameters));
  run.synchronisations_per_step =
      static_cast<double>(Synchronisations(job, size.plan.total_steps)) /
      static_cast<double>(size.plan.total_steps);

  const int64_t states = OptimizerStates(job.optimizer());
  int64_t worker_buffers = 2;  // parameters, gradients
  if (traits.updates_here) worker_buffers += states;
  if (traits.one_process && job.workers() > 1) ++worker_buffers;
  if (job.strategy() == proto::Strategy::ps_elastic) ++worker_buffers;  // the centre
  const int64_t snapshots =
      IsEmulated(job) ? 0
                      : size.plan.total_steps / EvaluationInterval(job, size.plan.steps_per_epoch);
  run.worker_memory_bytes =
      kWorkerBaseBytes + size.data_bytes + 4 * size.parameters * (worker_buffers + snapshots + 1);
  if (run.servers > 0) {
    // Parameters, sum and reply; every contribution where they are kept to be summed in order.
    int64_t server_buffers = 3;
    if (!traits.updates_here) server_buffers += states;
    if (job.deterministic()) server_buffers += job.workers();
    // What each worker was last given.
    if (job.strategy() == proto::Strategy::ps_async_dc) server_buffers += job.workers();
    run.server_memory_bytes = kServerBaseBytes + 4 * size.parameters * server_buffers / run.servers;
  }
  return run;
}

std::string DescribeDryRun(const std::vector<PlannedRun>& runs, const JobSize& size) {
  if (runs.empty()) return "";
  const proto::Job& job = runs.front().job;
  std::string text = absl::StrFormat(
      "%s: model %s, %s (%s of gradient a step), %s of %s, %s\n\n", job.name(),
      proto::Model::Name_Name(job.model()), Count(size.parameters, "parameter"),
      Bytes(4.0 * static_cast<double>(size.parameters)), Count(size.plan.total_steps, "step"),
      Count(job.global_batch(), "sample"), Count(static_cast<int64_t>(runs.size()), "run"));
  absl::StrAppendFormat(&text, "%-16s %7s %7s  %-16s %-13s %10s %10s %10s\n", "strategy", "workers",
                        "servers", "a worker sends", "every", "worker", "server", "all");
  int64_t largest = 0;
  for (const PlannedRun& planned : runs) {
    if (planned.repetition > 0 || planned.job.model() != job.model()) continue;
    const RunSize run = SizeOfRun(planned.job, size);
    const int64_t all =
        run.workers * run.worker_memory_bytes + run.servers * run.server_memory_bytes;
    largest = std::max(largest, all);
    const bool synchronises = run.synchronisations_per_step > 0;
    absl::StrAppendFormat(
        &text, "%-16s %7d %7d  %-16s %-13s %10s %10s %10s\n", StrategyName(planned.job.strategy()),
        run.workers, run.servers, synchronises ? Bytes(run.bytes_per_synchronisation) : "nothing",
        Interval(run.synchronisations_per_step), Mebibytes(run.worker_memory_bytes),
        run.servers > 0 ? Mebibytes(run.server_memory_bytes) : "-", Mebibytes(all));
  }
  absl::StrAppendFormat(&text,
                        "\nReceived bytes equal sent ones. Memory is an estimate of resident size, "
                        "at most %s at once.\nNothing was started.\n",
                        Mebibytes(largest));
  return text;
}

}  // namespace crossover::experiments
