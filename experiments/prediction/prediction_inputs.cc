#include "experiments/prediction/prediction_inputs.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/averaging.h"
#include "core/emulation.h"
#include "core/job.h"
#include "core/status.h"
#include "core/strategy_traits.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

constexpr double kSPerMs = 1e-3;
constexpr double kSPerUs = 1e-6;

bool OnOneMachine(const RunResult& run) { return run.network.kind != "hosts"; }

// Compute processes for each core that they share; 1 where they do not, or only wait.
double Contention(const proto::Job& job, const RunResult& run) {
  if (IsEmulated(job) || !OnOneMachine(run) || run.environment.cores <= 0) return 1;
  return std::max(1.0, static_cast<double>(run.workers) / run.environment.cores);
}

void TakeStraggler(const proto::Job& job, PredictionInputs& inputs) {
  const proto::Straggler& straggler = job.straggler();
  if (straggler.rank() < 0 || straggler.rank() >= job.workers() || straggler.factor() <= 1) return;
  inputs.slowdown = straggler.factor();
  inputs.slow_share = straggler.burst_steps() > 0 ? straggler.burst_share() : 1;
  // Arithmetic cannot be slowed down, so it is waited out at its end; a wait can.
  inputs.cost.slowest_in_turn = IsEmulated(job);
  inputs.sources.push_back(absl::StrCat("the job slows one worker's compute down ",
                                        FormatNumber(inputs.slowdown), " times in ",
                                        FormatPercent(inputs.slow_share), " of the steps"));
}

void TakeProfileOfSingle(const proto::Job& job, const RunResult& run, const RunResult& single,
                         PredictionInputs& inputs) {
  const double shards = static_cast<double>(std::max<int64_t>(single.shards, 1));
  // The job's slow worker, if it is rank 0, slows the single process down too.
  const double slowed =
      job.straggler().rank() == 0 ? 1 + inputs.slow_share * (inputs.slowdown - 1) : 1;
  const double contention = Contention(job, run);
  inputs.cost.compute_s = single.breakdown.compute_ms / shards / slowed * contention * kSPerMs;
  inputs.cost.data_s = single.breakdown.data_ms / shards * contention * kSPerMs;
  inputs.cost.update_s = single.breakdown.apply_ms * contention * kSPerMs;
  inputs.sources.push_back(absl::StrCat(
      "compute, data and update from the single run, per shard",
      contention > 1 ? absl::StrCat(", times ", FormatNumber(contention), " for ", run.workers,
                                    " workers on ", run.environment.cores, " cores")
                     : ""));
}

void TakeProfileOfLayers(const proto::Emulated& emulated, const RunResult& run,
                         PredictionInputs& inputs) {
  double compute_ms = 0;
  for (const proto::Layer& layer : emulated.layers()) {
    compute_ms += layer.forward_ms() + layer.backward_ms();
  }
  inputs.cost.compute_s = compute_ms / emulated.compute_speed() * kSPerMs;
  inputs.cost.data_s = run.breakdown.data_ms * kSPerMs;
  inputs.cost.update_s = run.breakdown.apply_ms * kSPerMs;
  inputs.sources.push_back("compute from the layer profile, data and update the run's own");
}

void TakeProfileOfRun(const RunResult& run, PredictionInputs& inputs) {
  inputs.cost.compute_s = run.breakdown.compute_ms * kSPerMs;
  inputs.cost.data_s = run.breakdown.data_ms * kSPerMs;
  inputs.cost.update_s = run.breakdown.apply_ms * kSPerMs;
  // The mean over ranks holds the slow worker's time too.
  inputs.cost.compute_s /=
      1 + inputs.slow_share * (inputs.slowdown - 1) / static_cast<double>(run.workers);
  inputs.sources.push_back("compute, data and update the run's own, since there is no single run");
}

bool ServersClip(const proto::Job& job) {
  return job.strategy() == proto::Strategy::ps_sync && job.optimizer().clip_norm() > 0;
}

// A worker that clips knows its norm at the end of the backward pass.
bool PushesAllAtOnce(const proto::Job& job) {
  const StrategyTraits traits = TraitsOf(job);
  return traits.servers && !traits.local_steps && job.optimizer().clip_norm() > 0 &&
         !ServersClip(job);
}

void TakeBuckets(const proto::Job& job, const RunResult& run, PredictionInputs& inputs) {
  std::vector<double> bytes, ready;
  for (const BucketFigures& bucket : run.buckets) {
    bytes.push_back(static_cast<double>(bucket.bytes));
    ready.push_back(bucket.ready_share);
  }
  if (bytes.empty()) {
    bytes = {static_cast<double>(run.model_bytes)};
    ready = {1};
    inputs.sources.push_back("buckets unknown: taken as one, ready at the end of compute");
  } else if (IsEmulated(job) && !TraitsOf(job).local_steps) {
    ready = ReadyShares(job.emulated(), bytes);
    inputs.sources.push_back("buckets ready by the layer profile");
  } else if (!TraitsOf(job).local_steps) {
    inputs.sources.push_back("buckets ready where the run's exchanges began");
  }
  if (PushesAllAtOnce(job)) ready.assign(ready.size(), 1);
  const double share = TraitsOf(job).servers ? ServersWireShare(job) : 1;
  for (size_t i = 0; i < bytes.size(); ++i) {
    inputs.cost.buckets.push_back({share * bytes[i], ready[i] * inputs.cost.compute_s});
  }
}

void TakeServers(const proto::Job& job, const RunResult& run, PredictionInputs& inputs) {
  inputs.cost.servers = static_cast<int>(run.servers);
  inputs.cost.colocated = run.network.placement == "colocated";
  inputs.cost.part_bytes = static_cast<double>(job.ps().part_bytes());
  double slowest = std::numeric_limits<double>::infinity();
  for (const ServerFigures& server : run.server_figures) {
    if (server.apply_ms_per_step <= 0 || server.parameter_bytes <= 0) continue;
    const double bytes =
        ServersWireShare(job) * static_cast<double>(server.parameter_bytes) * run.workers;
    // A step that does not exchange has no apply; the figure is over all steps.
    const double exchanged = run.steps > 0 && run.synchronisations > 0
                                 ? static_cast<double>(run.synchronisations) / run.steps
                                 : 1;
    // Of an emulated run that figure alone is not scaled back (docs/METRICS.md).
    const double apply_s = server.apply_ms_per_step * kSPerMs / run.scales.time;
    slowest = std::min(slowest, bytes * exchanged / apply_s);
  }
  inputs.cost.apply_bytes_per_s = slowest;
  if (slowest < std::numeric_limits<double>::infinity()) {
    inputs.sources.push_back("r as the run's servers summed and applied");
  }
}

void TakeStrategy(const proto::Job& job, const RunResult& run, PredictionInputs& inputs) {
  const StrategyTraits traits = TraitsOf(job);
  CostInputs& cost = inputs.cost;
  cost.workers = static_cast<int>(run.workers);
  if (traits.servers) {
    cost.exchange = Exchange::kServers;
    TakeServers(job, run, inputs);
  } else if (traits.collective) {
    cost.exchange = cost.buckets.front().exchange;
  }
  if (!traits.updates_here) cost.update_s = 0;
  // Servers that clip answer a push once the norm of all of them is known.
  cost.pipelined = !ServersClip(job);
  if (job.strategy() == proto::Strategy::ps_ssp) cost.pace = Pace::kBoundedStale;
  const bool one_push_an_update = job.strategy() == proto::Strategy::ps_async ||
                                  job.strategy() == proto::Strategy::ps_async_dc ||
                                  job.strategy() == proto::Strategy::ps_async_scaled;
  if (one_push_an_update) cost.pace = Pace::kAsync;
  if (traits.local_steps) {
    cost.pace = Pace::kLocalSteps;
    cost.exchanged_share = ExchangedShare(job, run.steps, run.warmup_steps_left_out);
  }
}

// The formula for an algorithm's name; kNone: there is none.
Exchange FormulaOf(const std::string& algorithm) {
  const std::pair<const char*, Exchange> formulas[] = {
      {"ring", Exchange::kRing},
      {"direct", Exchange::kDirect},
      {"halving_doubling", Exchange::kHalvingDoubling},
      {"recursive_doubling", Exchange::kRecursiveDoubling},
      {"tree", Exchange::kTree},
      {"exchange", Exchange::kOneStep}};
  for (const auto& [name, exchange] : formulas) {
    if (algorithm == name) return exchange;
  }
  return Exchange::kNone;
}

// What each bucket went by, as the run says; of older lines, which do not, as the job does.
absl::Status TakeAlgorithms(const proto::Job& job, const RunResult& run, PredictionInputs& inputs) {
  const proto::Transport::Name transport = job.allreduce().transport();
  const bool networked = transport == proto::Transport::tcp || transport == proto::Transport::grpc;
  const std::string by_job =
      networked ? proto::AllReduce::Algorithm_Name(AllReduceAlgorithmOf(job)) : "shared_memory";
  for (size_t i = 0; i < inputs.cost.buckets.size(); ++i) {
    const bool told = i < run.buckets.size() && !run.buckets[i].algorithm.empty();
    const std::string& algorithm = told ? run.buckets[i].algorithm : by_job;
    inputs.cost.buckets[i].exchange = FormulaOf(algorithm);
    if (inputs.cost.buckets[i].exchange != Exchange::kNone) continue;
    return absl::FailedPreconditionError(
        algorithm == "shared_memory"
            ? "the formulas are of networks, not of shared memory"
            : absl::StrCat("no formula here for the algorithm ", algorithm));
  }
  return absl::OkStatus();
}

bool HasFormula(proto::Strategy::Name strategy) {
  return strategy != proto::Strategy::ps_backup && strategy != proto::Strategy::ps_elastic &&
         strategy != proto::Strategy::ps_groups;
}

bool HasRole(const std::string& name, const char* role) { return absl::StartsWith(name, role); }

}  // namespace

std::vector<double> ReadyShares(const proto::Emulated& emulated,
                                const std::vector<double>& bucket_bytes) {
  double forward_ms = 0, backward_ms = 0, layer_bytes = 0, all_bytes = 0;
  for (const proto::Layer& layer : emulated.layers()) {
    forward_ms += layer.forward_ms();
    backward_ms += layer.backward_ms();
    layer_bytes += static_cast<double>(layer.gradient_bytes());
  }
  for (const double bytes : bucket_bytes) all_bytes += bytes;
  const double compute_ms = forward_ms + backward_ms;
  // By parts of the whole: scaled layers are rounded to whole values.
  const double tolerance = 1e-4;
  std::vector<double> shares;
  double done_ms = forward_ms, done_bytes = 0, wanted_bytes = 0;
  int layer = emulated.layers_size();
  for (const double bytes : bucket_bytes) {
    wanted_bytes += bytes;
    while (layer > 0 && (shares.size() + 1 == bucket_bytes.size() ||
                         done_bytes / layer_bytes + tolerance < wanted_bytes / all_bytes)) {
      --layer;
      done_ms += emulated.layers(layer).backward_ms();
      done_bytes += static_cast<double>(emulated.layers(layer).gradient_bytes());
      // The last bucket waits for no layer beyond the last that has gradients.
      if (done_bytes >= layer_bytes) break;
    }
    shares.push_back(compute_ms > 0 ? done_ms / compute_ms : 1);
  }
  return shares;
}

absl::StatusOr<LinkSpeed> LinkOf(const Network& network) {
  if (network.probe.empty()) {
    return absl::NotFoundError("the link was not probed, so the formulas have no rate to go by");
  }
  const bool named = std::any_of(network.probe.begin(), network.probe.end(),
                                 [](const auto& node) { return HasRole(node.name, "worker"); });
  const bool servers_named =
      std::any_of(network.probe.begin(), network.probe.end(),
                  [](const auto& node) { return HasRole(node.name, "server"); });
  constexpr double kNone = std::numeric_limits<double>::infinity();
  LinkSpeed link{kNone, kNone, kNone, kNone, 0};
  double rtt_us = 0;
  for (const ProbedNode& node : network.probe) {
    if (node.send_bytes_per_s <= 0 || node.receive_bytes_per_s <= 0) {
      return absl::InvalidArgumentError(absl::StrCat("the probe found no rate at ", node.name));
    }
    if (!named || HasRole(node.name, "worker")) {
      link.worker_send_bytes_per_s = std::min(link.worker_send_bytes_per_s, node.send_bytes_per_s);
      link.worker_receive_bytes_per_s =
          std::min(link.worker_receive_bytes_per_s, node.receive_bytes_per_s);
    }
    if (!servers_named || HasRole(node.name, "server")) {
      link.server_send_bytes_per_s = std::min(link.server_send_bytes_per_s, node.send_bytes_per_s);
      link.server_receive_bytes_per_s =
          std::min(link.server_receive_bytes_per_s, node.receive_bytes_per_s);
    }
    rtt_us = std::max(rtt_us, node.rtt_us);
  }
  link.latency_s = rtt_us / 2 * kSPerUs;
  return link;
}

double ExchangedShare(const proto::Job& job, int64_t steps, int64_t warmup_steps) {
  const AveragingSchedule schedule = MakeAveragingSchedule(job.local_sgd(), steps);
  int64_t exchanged = 0;
  for (int64_t step = warmup_steps; step < steps; ++step) {
    if (schedule.AveragesAfter(step)) ++exchanged;
  }
  return steps > warmup_steps ? static_cast<double>(exchanged) / (steps - warmup_steps) : 0;
}

absl::StatusOr<PredictionInputs> MakePredictionInputs(const RunResult& run,
                                                      const RunResult* single) {
  ASSIGN_OR_RETURN(const proto::Job job, ParseJob(run.resolved_job, "resolved_job"));
  if (TraitsOf(job).one_process) {
    return absl::FailedPreconditionError("the base that the others are predicted from");
  }
  if (!HasFormula(job.strategy())) {
    return absl::FailedPreconditionError(
        absl::StrCat("no formula here for the strategy ", StrategyName(job.strategy())));
  }
  if (run.workers < 1 || (TraitsOf(job).servers && run.servers < 1)) {
    return absl::InvalidArgumentError("the line names no workers or servers");
  }
  PredictionInputs inputs;
  ASSIGN_OR_RETURN(inputs.cost.link, LinkOf(run.network));
  TakeStraggler(job, inputs);
  if (single != nullptr) {
    TakeProfileOfSingle(job, run, *single, inputs);
  } else if (IsEmulated(job) && job.emulated().layers_size() > 0) {
    TakeProfileOfLayers(job.emulated(), run, inputs);
  } else {
    TakeProfileOfRun(run, inputs);
  }
  TakeBuckets(job, run, inputs);
  if (TraitsOf(job).collective) RETURN_IF_ERROR(TakeAlgorithms(job, run, inputs));
  TakeStrategy(job, run, inputs);
  return inputs;
}

}  // namespace crossover::experiments
