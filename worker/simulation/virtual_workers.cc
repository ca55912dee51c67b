#include "worker/simulation/virtual_workers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/averaging.h"
#include "core/elastic_averaging.h"
#include "core/reduce.h"
#include "core/strategy_traits.h"
#include "ps/policy.h"

namespace crossover::worker {
namespace {

// SplitMix64's output function (Steele, Lea, Flood 2014): neighbours come out unlike.
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

VirtualWorkers::VirtualWorkers(const proto::Job& job, const StepPlan& plan,
                               const ComputeTimes& times, const Dataset& train, Model& model)
    : job_(job),
      plan_(plan),
      times_(times),
      model_(model),
      learning_rate_(job.learning_rate(), job.global_batch(), plan.total_steps),
      local_steps_(TraitsOf(job).local_steps),
      group_size_(ps::PolicyFor(job).group_size),
      loss_sums_(plan.total_steps),
      loss_counts_(plan.total_steps) {
  MakeRounds();
  for (int rank = 0; rank < job.workers(); ++rank) {
    const BatchLoader::Options shard = {.seed = job.seed(),
                                        .accumulation = job.accumulation(),
                                        .drop_last = job.drop_last(),
                                        .rank = rank,
                                        .ranks = job.workers()};
    State& state = states_.emplace_back(
        State{.shard = std::make_unique<BatchLoader>(train, plan, shard, EpochPermutation),
              .straggler = StragglerSchedule(job),
              .divergence = DivergenceWatch(job.divergence()),
              .parameters = {},
              .optimizer = nullptr});
    if (!local_steps_) continue;
    state.optimizer = std::make_unique<Optimizer>(job.optimizer(), model.parameters().length);
  }
}

void VirtualWorkers::MakeRounds() {
  const AveragingSchedule averaging = MakeAveragingSchedule(job_.local_sgd(), plan_.total_steps);
  const bool elastic = job_.strategy() == proto::Strategy::ps_elastic;
  int64_t first = 0;
  for (int64_t step = 0; step < plan_.total_steps; ++step) {
    const bool exchanges = elastic ? ExchangesAfter(job_.local_sgd().local_steps(), step)
                                   : averaging.AveragesAfter(step);
    if (local_steps_ && !exchanges && step + 1 < plan_.total_steps) continue;
    rounds_.push_back({first, step + 1});
    first = step + 1;
  }
}

void VirtualWorkers::Compute(int worker, int64_t push, std::span<const float> given,
                             std::span<float> pushed) {
  if (local_steps_) {
    TakeLocalSteps(worker, push, given, pushed);
  } else {
    SetParameters(given);
    ComputeGroupGradient(worker, rounds_[push].first, pushed);
  }
}

void VirtualWorkers::SetParameters(std::span<const float> parameters) {
  std::ranges::copy(parameters, model_.parameters().host().begin());
}

// As Trainer::ComputeShard, which times it.
void VirtualWorkers::ComputeGradient(int worker, int64_t step) {
  std::ranges::fill(model_.gradients().host(), 0.0f);
  double loss = 0;
  for (const MicroBatch& micro : states_[worker].shard->Load(step)) {
    loss += micro.weight * model_.ForwardBackward(micro.batch, micro.weight, [](int) {});
  }
  loss_sums_[step] += loss;
  ++loss_counts_[step];
  const std::string why = states_[worker].divergence.Add(loss);
  if (!why.empty() && divergence_.empty()) {
    divergence_ = absl::StrCat("worker ", worker, ", step ", step, ": ", why);
  }
}

void VirtualWorkers::ComputeGroupGradient(int worker, int64_t step, std::span<float> pushed) {
  for (int member = worker; member < worker + group_size_; ++member) {
    ComputeGradient(member, step);
    const std::span<const float> gradient = model_.gradients().host();
    if (member == worker) {
      std::ranges::copy(gradient, pushed.begin());
    } else {
      AddInto(pushed, gradient);
    }
  }
  if (group_size_ > 1) DivideBy(pushed, group_size_);
}

void VirtualWorkers::TakeLocalSteps(int worker, int64_t push, std::span<const float> given,
                                    std::span<float> pushed) {
  State& state = states_[worker];
  if (push > 0 && job_.strategy() == proto::Strategy::ps_elastic) {
    MoveWorker(ElasticRate(job_), state.parameters, given);
  } else {
    state.parameters.assign(given.begin(), given.end());
  }
  for (int64_t step = rounds_[push].first; step < rounds_[push].end; ++step) {
    SetParameters(state.parameters);
    ComputeGradient(worker, step);
    state.optimizer->Apply(0, state.parameters, model_.gradients().host(), learning_rate_.At(step),
                           step);
  }
  std::ranges::copy(state.parameters, pushed.begin());
}

int64_t VirtualWorkers::ComputeNs(int worker, int64_t push) {
  int64_t sum_ns = 0;
  for (int64_t step = rounds_[push].first; step < rounds_[push].end; ++step) {
    int64_t slowest_ns = 0;
    for (int member = worker; member < worker + group_size_; ++member) {
      slowest_ns = std::max(slowest_ns, StepNs(member, step));
    }
    sum_ns += slowest_ns;
  }
  return sum_ns;
}

// The same for every strategy, so that they meet the same times.
int64_t VirtualWorkers::StepNs(int worker, int64_t step) {
  const uint64_t drawn =
      Mix(Mix(Mix(job_.seed()) + static_cast<uint64_t>(worker)) + static_cast<uint64_t>(step));
  const auto range = static_cast<uint64_t>(times_.max_ns - times_.min_ns + 1);
  const auto step_ns = times_.min_ns + static_cast<int64_t>(drawn % range);
  return static_cast<int64_t>(states_[worker].straggler.Factor(worker, step) *
                              static_cast<double>(step_ns));
}

int64_t VirtualWorkers::Samples(int worker, int64_t push) const {
  int64_t samples = 0;
  for (int64_t step = rounds_[push].first; step < rounds_[push].end; ++step) {
    samples += group_size_ * states_[worker].shard->samples(step);
  }
  return samples;
}

std::vector<double> VirtualWorkers::step_losses() const {
  std::vector<double> losses(loss_sums_.size());
  for (size_t step = 0; step < losses.size(); ++step) {
    if (loss_counts_[step] > 0) {
      losses[step] = loss_sums_[step] / static_cast<double>(loss_counts_[step]);
    }
  }
  return losses;
}

}  // namespace crossover::worker
