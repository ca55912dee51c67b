#include "worker/simulation/simulation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/emulation.h"
#include "core/histogram.h"
#include "core/job.h"
#include "core/status.h"
#include "core/strategy_traits.h"
#include "ps/policy.h"
#include "ps/simulator.h"
#include "worker/models/model.h"

namespace crossover::worker {
namespace {

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

// The whole buffer is one bucket, on one server.
std::vector<int64_t> PartLengths(int64_t length, int64_t part_bytes) {
  const int64_t values = part_bytes / static_cast<int64_t>(sizeof(float));
  std::vector<int64_t> lengths(length / values, values);
  if (length % values > 0) lengths.push_back(length % values);
  return lengths;
}

// Worker 0's parameters where a push begins a new interval of the job's evaluations.
struct Snapshots {
  struct Snapshot {
    int64_t steps = 0;
    int64_t last_push = 0;  // the one before, whose answer gave these parameters
    std::vector<float> parameters;
  };
  const int64_t interval_steps;
  int64_t last_steps = 0;
  int64_t last_push = 0;
  std::vector<Snapshot> taken = {};

  void BeforePush(int64_t push, int64_t steps, std::span<const float> parameters) {
    if (steps / interval_steps > last_steps / interval_steps) {
      taken.push_back({steps, last_push, {parameters.begin(), parameters.end()}});
    }
    last_steps = steps;
    last_push = push;
  }
};

// When the last part's answer to worker 0's push left.
int64_t AnsweredNs(const ps::History& history, int64_t push) {
  int64_t time_ns = 0;
  for (const ps::SimulatedRelease& release : history.releases) {
    if (release.worker == 0 && release.step == push) time_ns = std::max(time_ns, release.time_ns);
  }
  return time_ns;
}

AccuracyPoint Evaluate(Model& model, std::span<const float> parameters, const Dataset& test,
                       int64_t steps, int64_t time_ns) {
  std::ranges::copy(parameters, model.parameters().host().begin());
  const std::optional<EvaluationResult> result = model.Evaluate(test);
  return {steps, Seconds(time_ns), result.has_value() ? result->accuracy : 0};
}

void CountPushes(const ps::History& history, const VirtualWorkers& workers,
                 SimulatedTraining& training) {
  Histogram staleness;
  int64_t first_end_ns = history.end_ns;
  for (const ps::SimulatedPush& push : history.pushes) {
    training.late_pushes += push.late ? 1 : 0;
    if (!push.late) staleness.Add(push.staleness);
  }
  for (const ps::SimulatedRelease& release : history.releases) {
    if (release.step + 1 < workers.pushes()) continue;
    first_end_ns = std::min(first_end_ns, release.time_ns);
  }
  training.staleness_counts = staleness.counts();
  training.staleness_mean = staleness.mean();
  int64_t samples = 0;
  for (const ps::SimulatedPush& push : history.pushes) {
    if (push.part != 0 || push.late || push.time_ns > first_end_ns) continue;
    samples += workers.Samples(push.worker, push.step);
  }
  training.samples_per_s = static_cast<double>(samples) / Seconds(first_end_ns);
}

void CountHeld(const ps::History& history, int workers, SimulatedTraining& training) {
  std::map<std::pair<int, int>, int64_t> pushed_ns;  // by part and worker: one is unanswered
  std::vector<int64_t> answers(workers);
  training.held_s.resize(workers);
  size_t next = 0;
  for (const ps::SimulatedRelease& release : history.releases) {
    for (; next < history.pushes.size() && history.pushes[next].time_ns <= release.time_ns;
         ++next) {
      const ps::SimulatedPush& push = history.pushes[next];
      pushed_ns[{push.part, push.worker}] = push.time_ns;
    }
    ++answers[release.worker];
    training.held_s[release.worker] +=
        Seconds(release.time_ns - pushed_ns[{release.part, release.worker}]);
  }
  for (int worker = 0; worker < workers; ++worker) {
    if (answers[worker] > 0) training.held_s[worker] /= static_cast<double>(answers[worker]);
  }
}

}  // namespace

absl::Status CheckSimulated(const proto::Job& job) {
  if (!UsesServers(job)) {
    return absl::InvalidArgumentError(
        absl::StrCat("strategy ", StrategyName(job.strategy()),
                     " goes through no servers; simulated are those that do (local_sgd with "
                     "--local_sgd.through=servers)"));
  }
  if (IsEmulated(job)) {
    return absl::InvalidArgumentError("an emulated model learns nothing; take --model=mlp");
  }
  return absl::OkStatus();
}

absl::StatusOr<SimulatedTraining> SimulateTraining(const proto::Job& job,
                                                   const VirtualCluster& cluster,
                                                   const TrainTest& data) {
  RETURN_IF_ERROR(CheckSimulated(job));
  ASSIGN_OR_RETURN(const StepPlan plan, MakeStepPlan(job, data.train.size()));
  ManualClock clock;  // of no use to a model that computes
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, MakeModel(job, data.train.shape, 0, clock));
  VirtualWorkers workers(job, plan, cluster.compute, data.train, *model);
  Snapshots snapshots = {.interval_steps = EvaluationInterval(job, plan.steps_per_epoch)};
  const std::span<const float> first = model->parameters().host();
  ps::SimulationOptions options;
  options.job = job;
  options.steps = plan.total_steps;
  options.pushes = workers.pushes();
  options.parameters.assign(first.begin(), first.end());
  options.part_lengths = PartLengths(model->layout().length, job.ps().part_bytes());
  options.seed = job.seed();
  options.compute_ns = [&](int worker, int64_t push) { return workers.ComputeNs(worker, push); };
  options.travel_ns_min = options.travel_ns_max = cluster.latency_ns;
  options.link_bytes_per_s = cluster.link_bytes_per_s;
  options.compute = [&](int worker, int64_t push, std::span<const float> given,
                        std::span<float> pushed) {
    if (worker == 0) snapshots.BeforePush(push, workers.FirstStep(push), given);
    workers.Compute(worker, push, given, pushed);
  };
  ASSIGN_OR_RETURN(ps::History history, ps::Simulate(options));

  SimulatedTraining training;
  for (const Snapshots::Snapshot& snapshot : snapshots.taken) {
    training.points.push_back(Evaluate(*model, snapshot.parameters, data.test, snapshot.steps,
                                       AnsweredNs(history, snapshot.last_push)));
  }
  training.points.push_back(
      Evaluate(*model, history.parameters, data.test, plan.total_steps, history.end_ns));
  CountPushes(history, workers, training);
  CountHeld(history, job.workers(), training);
  training.step_losses = workers.step_losses();
  training.parameters = std::move(history.parameters);
  training.end_s = Seconds(history.end_ns);
  training.rates = history.rates;
  training.divergence = workers.divergence();
  return training;
}

}  // namespace crossover::worker
