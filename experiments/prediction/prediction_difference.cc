#include "experiments/prediction/prediction_difference.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "experiments/prediction/prediction.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

constexpr double kCausesPart = .3;
constexpr double kShareTolerance = .03;
constexpr double kBusyServer = .7;
constexpr double kBusyMachine = .8;
constexpr double kUneven = 1.1;
constexpr double kSmallPieceBytes = 65536;

bool Apart(double measured, double predicted) {
  return std::abs(measured - predicted) > kAgreement * std::abs(predicted);
}

std::string Ms(double ms) { return absl::StrCat(FormatNumber(ms), " ms"); }

bool MakesUp(const Difference& difference, double cause_ms) {
  return difference.excess_ms > 0 && cause_ms >= kCausesPart * difference.excess_ms;
}

bool IsServer(const ProcessFigures& process) { return absl::StartsWith(process.name, "server"); }

// CPU time and wall time of a process are real: no scale was taken out of them.
double PartOfACore(const RunResult& run, double cpu_s) {
  return run.wall_s > 0 ? cpu_s / run.wall_s : 0;
}

bool MoreProcessesThanCores(const RunResult& run) {
  return run.network.kind != "hosts" && run.environment.cores > 0 &&
         run.workers + run.servers > run.environment.cores;
}

}  // namespace

bool Agrees(const RunResult& run, const Cost& cost) {
  if (Apart(run.step_ms_mean, cost.step_ms)) return false;
  const double measured = run.communication_share, predicted = cost.communication_share;
  return std::abs(measured - predicted) <= kShareTolerance || !Apart(measured, predicted);
}

Difference MakeDifference(const RunResult& run, const Cost& cost, double predicted_rest_ms,
                          bool slow_worker_predicted) {
  const bool steps_apart = Apart(run.step_ms_mean, cost.step_ms);
  return {run, cost, predicted_rest_ms, slow_worker_predicted,
          steps_apart ? run.step_ms_mean - cost.step_ms : run.exposed_ms - cost.exposed_ms};
}

Reason StragglerReason(const Difference& difference) {
  const std::optional<StragglerFigures>& straggler = difference.run.straggler;
  if (!straggler.has_value() || straggler->within_clock_error || difference.slow_worker_predicted) {
    return std::nullopt;
  }
  const double share = straggler->share_of_steps.value_or(1);
  if (!MakesUp(difference, straggler->excess_ms * share)) return std::nullopt;
  return absl::StrCat(
      "straggler: worker ", straggler->rank, " is ", Ms(straggler->excess_ms), " behind the others",
      straggler->share_of_steps.has_value()
          ? absl::StrCat(" in ", FormatPercent(share), " of steps")
          : std::string(),
      straggler->phase == "none" ? "" : absl::StrCat(", by its ", straggler->phase));
}

Reason StalenessHoldReason(const Difference& difference) {
  const RunResult& run = difference.run;
  if (run.steps <= 0 || run.worker_figures.empty()) return std::nullopt;
  double held_ms = 0;
  const WorkerFigures* longest = &run.worker_figures[0];
  for (const WorkerFigures& worker : run.worker_figures) {
    held_ms += worker.held_ms;
    if (worker.held_ms > longest->held_ms) longest = &worker;
  }
  held_ms /= static_cast<double>(run.steps) * static_cast<double>(run.worker_figures.size());
  if (held_ms <= 0 || !MakesUp(difference, held_ms)) return std::nullopt;
  return absl::StrCat("staleness hold: the bound held replies for ", Ms(held_ms),
                      " a step, worker ", longest->rank, "'s longest");
}

Reason ImbalanceReason(const Difference& difference) {
  const double imbalance = difference.run.shard_imbalance;
  if (imbalance < kUneven) return std::nullopt;
  if (!MakesUp(difference, (imbalance - 1) * difference.cost.exchange_ms)) return std::nullopt;
  return absl::StrCat("imbalance: the largest server holds ", FormatNumber(imbalance),
                      " times the mean");
}

Reason ComputeReason(const Difference& difference) {
  const RunResult& run = difference.run;
  const double more_ms = run.compute_ms - difference.cost.compute_ms;
  const double excess_ms = difference.excess_ms;
  if (more_ms * excess_ms <= 0 || std::abs(more_ms) < kCausesPart * std::abs(excess_ms)) {
    return std::nullopt;
  }
  const std::string took = absl::StrCat("compute took ", Ms(run.compute_ms), " instead of ",
                                        Ms(difference.cost.compute_ms));
  if (more_ms > 0 && MoreProcessesThanCores(run)) {
    return absl::StrCat("contention: ", took, " with ", run.workers + run.servers, " processes on ",
                        run.environment.cores, " cores");
  }
  return took;
}

Reason RestReason(const Difference& difference) {
  const Breakdown& parts = difference.run.breakdown;
  const double rest_ms = parts.data_ms + parts.apply_ms + parts.other_ms;
  if (!MakesUp(difference, rest_ms - difference.predicted_rest_ms)) return std::nullopt;
  return absl::StrCat("the rest of the step: data, update and time in no span took ", Ms(rest_ms),
                      " instead of ", Ms(difference.predicted_rest_ms));
}

Reason ServerCpuReason(const Difference& difference) {
  if (difference.excess_ms <= 0) return std::nullopt;
  const ProcessFigures* busiest = nullptr;
  for (const ProcessFigures& process : difference.run.processes) {
    if (!IsServer(process)) continue;
    if (busiest == nullptr || process.cpu_s > busiest->cpu_s) busiest = &process;
  }
  if (busiest == nullptr) return std::nullopt;
  const double part = PartOfACore(difference.run, busiest->cpu_s);
  if (part < kBusyServer) return std::nullopt;
  return absl::StrCat("server CPU: ", busiest->name, " used ", FormatPercent(part),
                      " of a core over the run");
}

Reason ContentionReason(const Difference& difference) {
  const RunResult& run = difference.run;
  if (difference.excess_ms <= 0 || run.network.kind == "hosts" || run.environment.cores <= 0) {
    return std::nullopt;
  }
  double cpu_s = 0;
  for (const ProcessFigures& process : run.processes) cpu_s += process.cpu_s;
  const double part = PartOfACore(run, cpu_s) / static_cast<double>(run.environment.cores);
  if (part < kBusyMachine) return std::nullopt;
  return absl::StrCat("contention: ", run.processes.size(), " processes used ", FormatPercent(part),
                      " of the machine's ", run.environment.cores, " cores");
}

Reason LatencyReason(const Difference& difference) {
  const Cost& cost = difference.cost;
  if (difference.excess_ms <= 0 || cost.latency_ms <= 0 ||
      cost.latency_ms < kCausesPart * cost.exchange_ms) {
    return std::nullopt;
  }
  return absl::StrCat("latency: ", Ms(cost.latency_ms), " of the exchange's ", Ms(cost.exchange_ms),
                      ", and a late message delays all that follow");
}

Reason SmallBucketsReason(const Difference& difference) {
  const RunResult& run = difference.run;
  if (difference.excess_ms <= 0 || run.buckets.empty()) return std::nullopt;
  double bytes = 0;
  for (const BucketFigures& bucket : run.buckets) bytes += static_cast<double>(bucket.bytes);
  const double peers = static_cast<double>(run.servers > 0 ? run.servers : run.workers);
  const double piece_bytes = bytes / static_cast<double>(run.buckets.size()) / peers;
  if (piece_bytes >= kSmallPieceBytes) return std::nullopt;
  return absl::StrCat("small buckets: a bucket's piece for one peer is ", FormatBytes(piece_bytes),
                      ", where the cost of a message outweighs that of its bytes");
}

std::string ExplainDifference(const Difference& difference) {
  constexpr Reason (*kRules[])(const Difference&) = {
      StragglerReason, StalenessHoldReason, ImbalanceReason, ComputeReason,     RestReason,
      ServerCpuReason, ContentionReason,    LatencyReason,   SmallBucketsReason};
  constexpr size_t kMostReasons = 2;
  std::vector<std::string> reasons;
  for (const auto& rule : kRules) {
    const Reason reason = rule(difference);
    if (reason.has_value() && reasons.size() < kMostReasons) reasons.push_back(*reason);
  }
  if (reasons.empty()) return "nothing in the run's figures explains it";
  return absl::StrJoin(reasons, "; ");
}

}  // namespace crossover::experiments
