#include "ps/shard.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/averaging.h"
#include "core/check.h"
#include "core/learning_rate.h"
#include "core/optimizer.h"
#include "core/reduce.h"
#include "core/status.h"

namespace crossover::ps {
namespace {

struct WorkerState {
  int64_t completed_steps = 0;  // pushes taken
  bool unanswered = false;      // its last push has had no reply
  bool left = false;
  // A contribution that came before its turn (rank order only); empty otherwise.
  PartPool::Buffer staged;
};

}  // namespace

struct ShardPart::Impl {
  Impl(const proto::Job& job, const Policy& policy, int64_t length, int64_t total_steps,
       std::shared_ptr<PartPool> pool);

  bool AllContribute() const { return policy.contributions == policy.workers; }
  absl::Status CheckPush(int worker, int64_t step, int64_t from_version,
                         const Payload& payload) const;
  absl::Status CheckComplete() const;
  void Sum(int worker, const Payload& payload);
  void AddToSum(bool first, const Payload& payload);
  void AddInRankOrder(int worker, const Payload& payload);
  void Update(int64_t step);
  int64_t SlowestCompleted() const;
  std::vector<Release> TakeReleases();

  const Policy policy;
  const int64_t length;
  const LearningRateSchedule schedule;
  const double rate_factor;
  const int64_t first_phase_steps;
  std::optional<Optimizer> optimizer;   // where gradients are pushed
  std::optional<OuterOptimizer> outer;  // where parameters are pushed
  const std::shared_ptr<PartPool> pool;
  std::vector<float> parameters;
  PartPool::Buffer sum;  // of the contributions to the next update, once there are any
  std::vector<WorkerState> workers;
  bool initialized = false;
  int64_t version = 0;
  int contributed = 0;  // to the next update
  int next_rank = 0;    // whose contribution is summed next (rank order only)
  Histogram staleness;
};

ShardPart::Impl::Impl(const proto::Job& job, const Policy& policy, int64_t length,
                      int64_t total_steps, std::shared_ptr<PartPool> lender)
    : policy(policy),
      length(length),
      schedule(job.learning_rate(), job.global_batch(), total_steps),
      rate_factor(PushRateFactor(job)),
      first_phase_steps(MakeAveragingSchedule(job.local_sgd(), total_steps).first_phase_steps),
      pool(lender != nullptr ? std::move(lender) : PartPool::Make(length)),
      parameters(length),
      workers(policy.workers) {
  CROSSOVER_CHECK(length > 0, "a part has at least one value");
  CROSSOVER_CHECK(policy.contributions == 1 || policy.contributions == policy.workers,
                  "an update is made of one contribution or of all workers'");
  if (policy.pushed == Pushed::kGradients) {
    optimizer.emplace(job.optimizer(), length);
  } else {
    outer.emplace(job.local_sgd().outer_learning_rate(), job.local_sgd().outer_momentum(), length);
  }
}

absl::Status ShardPart::Impl::CheckPush(int worker, int64_t step, int64_t from_version,
                                        const Payload& payload) const {
  if (worker < 0 || worker >= policy.workers) {
    return absl::InvalidArgumentError(
        absl::StrCat("push of worker ", worker, ": allowed are 0 to ", policy.workers - 1));
  }
  const WorkerState& state = workers[worker];
  const std::string who = absl::StrCat("push of worker ", worker, " for step ", step, ": ");
  if (!initialized) {
    return absl::FailedPreconditionError(
        absl::StrCat(who, "the parameters have not been initialized; worker 0 does it"));
  }
  if (state.left) return absl::FailedPreconditionError(absl::StrCat(who, "it has left"));
  const int64_t bytes = static_cast<int64_t>(BytesOf(payload.type())) * length;
  if (static_cast<int64_t>(payload.size_bytes()) != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(who, payload.size_bytes(), " bytes where the part has ", bytes));
  }
  if (step != state.completed_steps) {
    return absl::InvalidArgumentError(
        absl::StrCat(who, "its next step is ", state.completed_steps));
  }
  if (state.unanswered) {
    return absl::FailedPreconditionError(
        absl::StrCat(who, "its push for step ", step - 1, " has not been answered"));
  }
  if (AllContribute() && from_version != version) {
    return absl::InvalidArgumentError(absl::StrCat(who, "computed from version ", from_version,
                                                   "; the present one is ", version));
  }
  if (from_version < 0 || from_version > version) {
    return absl::InvalidArgumentError(absl::StrCat(who, "computed from version ", from_version,
                                                   "; there have been 0 to ", version));
  }
  return CheckComplete();
}

// Whether the next update can still be complete.
absl::Status ShardPart::Impl::CheckComplete() const {
  if (!AllContribute()) return absl::OkStatus();
  for (int worker = 0; worker < policy.workers; ++worker) {
    const WorkerState& state = workers[worker];
    if (state.left && state.completed_steps <= version) {
      return absl::FailedPreconditionError(
          absl::StrCat("worker ", worker, " left after ", state.completed_steps, " steps; step ",
                       version, " needs the contributions of all ", policy.workers, " workers"));
    }
  }
  return absl::OkStatus();
}

void ShardPart::Impl::Sum(int worker, const Payload& payload) {
  if (policy.rank_order) {
    AddInRankOrder(worker, payload);
  } else {
    AddToSum(contributed == 0, payload);
  }
  ++contributed;
}

void ShardPart::Impl::AddToSum(bool first, const Payload& payload) {
  if (first) {
    sum = pool->Take(length);
    payload.CopyTo(sum.values());
  } else {
    payload.AddTo(sum.values());
  }
}

void ShardPart::Impl::AddInRankOrder(int worker, const Payload& payload) {
  if (worker != next_rank) {
    workers[worker].staged = pool->Take(length);
    payload.CopyTo(workers[worker].staged.values());
    return;
  }
  AddToSum(worker == 0, payload);
  ++next_rank;
  while (next_rank < policy.workers && !workers[next_rank].staged.empty()) {
    AddInto(sum.values(), workers[next_rank].staged.values());
    workers[next_rank].staged.Return();
    ++next_rank;
  }
}

void ShardPart::Impl::Update(int64_t step) {
  if (policy.contributions > 1) DivideBy(sum.values(), policy.contributions);
  if (policy.pushed == Pushed::kGradients) {
    optimizer->Apply(0, parameters, sum.values(), rate_factor * schedule.At(step), version);
  } else if (step < first_phase_steps || outer->IsPlainAverage()) {
    std::copy(sum.values().begin(), sum.values().end(), parameters.begin());
  } else {
    outer->Apply(0, parameters, sum.values());
  }
  sum.Return();
  ++version;
  contributed = 0;
  next_rank = 0;
}

int64_t ShardPart::Impl::SlowestCompleted() const {
  int64_t slowest = Policy::kUnbounded;
  for (const WorkerState& state : workers) {
    if (!state.left) slowest = std::min(slowest, state.completed_steps);
  }
  return slowest;
}

// The replies that may leave now, marked as answered.
std::vector<Release> ShardPart::Impl::TakeReleases() {
  std::vector<Release> released;
  const int64_t slowest = SlowestCompleted();
  for (int worker = 0; worker < policy.workers; ++worker) {
    WorkerState& state = workers[worker];
    if (!state.unanswered || state.left) continue;
    const int64_t lead_steps = state.completed_steps - slowest;
    if (lead_steps > policy.lead_steps_max) continue;
    if (AllContribute() && state.completed_steps > version) continue;
    state.unanswered = false;
    released.push_back({worker, state.completed_steps - 1, version, lead_steps});
  }
  return released;
}

ShardPart::ShardPart(const proto::Job& job, const Policy& policy, int64_t length,
                     int64_t total_steps, std::shared_ptr<PartPool> pool)
    : impl_(std::make_unique<Impl>(job, policy, length, total_steps, std::move(pool))) {}
ShardPart::~ShardPart() = default;
ShardPart::ShardPart(ShardPart&&) noexcept = default;

absl::Status ShardPart::Initialize(const Payload& parameters) {
  if (impl_->initialized) {
    return absl::FailedPreconditionError("the parameters have been initialized before");
  }
  if (static_cast<int64_t>(parameters.size_bytes()) != 4 * impl_->length) {
    return absl::InvalidArgumentError(
        absl::StrCat("initial parameters of ", parameters.size_bytes(),
                     " bytes where the part has ", 4 * impl_->length));
  }
  parameters.CopyTo(impl_->parameters);
  impl_->initialized = true;
  return absl::OkStatus();
}

bool ShardPart::initialized() const { return impl_->initialized; }

absl::StatusOr<PushResult> ShardPart::Push(int worker, int64_t step, int64_t version,
                                           const Payload& payload) {
  Impl& impl = *impl_;
  RETURN_IF_ERROR(impl.CheckPush(worker, step, version, payload));
  WorkerState& state = impl.workers[worker];
  PushResult result;
  result.staleness = impl.version - version;
  impl.staleness.Add(result.staleness);
  impl.Sum(worker, payload);
  ++state.completed_steps;
  state.unanswered = true;
  if (impl.contributed == impl.policy.contributions) {
    impl.Update(step);
    result.applied = true;
  }
  result.released = impl.TakeReleases();
  result.held = result.applied && state.unanswered;
  return result;
}

LeaveResult ShardPart::Leave(int worker) {
  CROSSOVER_CHECK(worker >= 0 && worker < impl_->policy.workers, "the caller checks the rank");
  LeaveResult result;
  impl_->workers[worker].left = true;
  result.released = impl_->TakeReleases();
  result.failure = impl_->CheckComplete();
  if (result.failure.ok()) return result;
  for (int other = 0; other < impl_->policy.workers; ++other) {
    WorkerState& state = impl_->workers[other];
    if (state.unanswered && !state.left) result.stranded.push_back(other);
  }
  return result;
}

std::span<const float> ShardPart::parameters() const { return impl_->parameters; }
int64_t ShardPart::version() const { return impl_->version; }

int64_t ShardPart::state_bytes() const {
  return impl_->optimizer ? impl_->optimizer->state_bytes() : impl_->outer->state_bytes();
}

const Histogram& ShardPart::staleness() const { return impl_->staleness; }

}  // namespace crossover::ps
