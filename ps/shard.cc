#include "ps/shard.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/averaging.h"
#include "core/check.h"
#include "core/elastic_averaging.h"
#include "core/gradient_norm.h"
#include "core/learning_rate.h"
#include "core/optimizer.h"
#include "core/reduce.h"
#include "core/status.h"

namespace crossover::ps {
namespace {

struct WorkerState {
  int64_t completed_steps = 0;  // pushes taken
  bool unanswered = false;      // its last push has had no reply
  bool late = false;            // that push was dropped
  bool owes_norm = false;       // it has been told the squares of its push's update
  int64_t answer_version = 0;   // the first whose parameters may answer it
  bool left = false;
  // A contribution that came before its turn (rank order only); empty otherwise.
  PartPool::Buffer staged;
  // The parameters that it was last given (where gradients are corrected by their delay).
  std::vector<float> given;
};

// DC-ASGD (Zheng et al. 2017): the gradient at `now`, to first order, of one at `given`, with
// lambda g g for the diagonal of the Hessian.
void CompensateDelay(double lambda, std::span<const float> given, std::span<const float> now,
                     std::span<float> gradient) {
  const auto factor = static_cast<float>(lambda);
  for (size_t i = 0; i < gradient.size(); ++i) {
    const float g = gradient[i];
    gradient[i] = g + factor * g * g * (now[i] - given[i]);
  }
}

}  // namespace

struct ShardPart::Impl {
  Impl(const proto::Job& job, const Policy& policy, int64_t length, int64_t total_steps,
       std::shared_ptr<PartPool> pool);

  bool AllContribute() const {
    return policy.contributions == policy.workers && !policy.drops_late;
  }
  bool IsLate(int64_t from_version) const {
    return policy.drops_late && (from_version < version || version >= total_steps);
  }
  absl::Status CheckPush(int worker, int64_t step, int64_t from_version,
                         const Payload& payload) const;
  absl::Status CheckComplete() const;
  void Sum(int worker, const Payload& payload);
  void AddToSum(bool first, const Payload& payload);
  void AddInRankOrder(int worker, const Payload& payload);
  void Correct(int worker, int64_t staleness);
  std::vector<int> TellSquares();
  void Update(int64_t step);
  void ApplyGradient(int64_t step);
  void Give(int worker);
  int64_t SlowestCompleted() const;
  std::vector<Release> TakeReleases();

  const Policy policy;
  const int64_t length;
  const int64_t total_steps;
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
  int contributed = 0;       // to the next update
  int next_rank = 0;         // whose contribution is summed next (rank order only)
  bool awaits_norm = false;  // the mean is in `sum`
  SquareSum squares;         // of the last such mean
  double norm = 0;           // that the last such update was made with
  double rate_part = 1;      // of the next update's learning rate, by its staleness
  Histogram staleness;
  RateSums rates;
};

ShardPart::Impl::Impl(const proto::Job& job, const Policy& policy, int64_t length,
                      int64_t total_steps, std::shared_ptr<PartPool> lender)
    : policy(policy),
      length(length),
      total_steps(total_steps),
      schedule(job.learning_rate(), job.global_batch(), total_steps),
      rate_factor(PushRateFactor(job)),
      first_phase_steps(MakeAveragingSchedule(job.local_sgd(), total_steps).first_phase_steps),
      pool(lender != nullptr ? std::move(lender) : PartPool::Make(length)),
      parameters(length),
      workers(policy.workers) {
  CROSSOVER_CHECK(length > 0, "a part has at least one value");
  CROSSOVER_CHECK(
      policy.drops_late || policy.contributions == 1 || policy.contributions == policy.workers,
      "an update is made of one contribution or of all workers'");
  if (policy.pushed == Pushed::kGradients) {
    optimizer.emplace(job.optimizer(), length);
  } else if (policy.elastic_rate == 0) {
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
  if (!Pushes(policy, worker)) {
    return absl::InvalidArgumentError(
        absl::StrCat(who, "worker ", worker - worker % policy.group_size, " pushes for its group"));
  }
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
  if (policy.drops_late ? step < state.completed_steps : step != state.completed_steps) {
    return absl::InvalidArgumentError(absl::StrCat(who, "its next step is ", state.completed_steps,
                                                   policy.drops_late ? " or a later one" : ""));
  }
  if (state.unanswered) {
    return absl::FailedPreconditionError(absl::StrCat(
        who, "its push for step ", state.completed_steps - 1, " has not been answered"));
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
  if (!AllContribute() && !policy.drops_late) return absl::OkStatus();
  if (policy.drops_late && version >= total_steps) return absl::OkStatus();
  int contributors = 0;  // that have contributed or still can
  int first_gone = -1;
  for (int worker = 0; worker < policy.workers; ++worker) {
    const WorkerState& state = workers[worker];
    if (!state.left || state.answer_version > version) {
      ++contributors;
    } else if (first_gone < 0) {
      first_gone = worker;
    }
  }
  if (contributors >= policy.contributions) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("worker ", first_gone, " left after ", workers[first_gone].completed_steps,
                   " steps; step ", version, " needs the contributions of ",
                   AllContribute() ? "all " : absl::StrCat(policy.contributions, " of the "),
                   policy.workers, " workers"));
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

// Of an update by one contribution, which is in `sum`.
void ShardPart::Impl::Correct(int worker, int64_t staleness) {
  if (policy.delay_compensation > 0 && staleness > 0) {
    CompensateDelay(policy.delay_compensation, workers[worker].given, parameters, sum.values());
  }
  if (policy.rate_falls_with_staleness) {
    rate_part = 1 / static_cast<double>(std::max<int64_t>(1, staleness));
  }
}

void ShardPart::Impl::Give(int worker) {
  if (policy.delay_compensation > 0) workers[worker].given = parameters;
}

void ShardPart::Impl::ApplyGradient(int64_t step) {
  const double scheduled = rate_factor * schedule.At(policy.drops_late ? version : step);
  const double effective = rate_part * scheduled;
  optimizer->Apply(0, parameters, sum.values(), effective, version);
  rates.contributions += policy.contributions;
  rates.scheduled += policy.contributions * scheduled;
  rates.effective += policy.contributions * effective;
}

// The first phase of an update in two: everyone has contributed, the mean is in `sum`.
std::vector<int> ShardPart::Impl::TellSquares() {
  squares = {};
  squares.Add(sum.values());
  awaits_norm = true;
  std::vector<int> told;
  for (int worker = 0; worker < policy.workers; ++worker) {
    if (workers[worker].left) continue;
    workers[worker].owes_norm = true;
    told.push_back(worker);
  }
  return told;
}

// With the mean in `sum`.
void ShardPart::Impl::Update(int64_t step) {
  if (policy.pushed == Pushed::kGradients) {
    ApplyGradient(step);
  } else if (policy.elastic_rate > 0) {
    MoveCentre(policy.elastic_rate, parameters, sum.values());
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
  for (int worker = 0; worker < policy.workers; ++worker) {
    const WorkerState& state = workers[worker];
    if (Pushes(policy, worker) && !state.left) slowest = std::min(slowest, state.completed_steps);
  }
  return slowest;
}

// The replies that may leave now, marked as answered.
std::vector<Release> ShardPart::Impl::TakeReleases() {
  std::vector<Release> released;
  const int64_t slowest = SlowestCompleted();
  for (int worker = 0; worker < policy.workers; ++worker) {
    WorkerState& state = workers[worker];
    if (!state.unanswered || state.left || state.owes_norm) continue;
    const int64_t lead_steps = state.completed_steps - slowest;
    if (lead_steps > policy.lead_steps_max) continue;
    if (state.answer_version > version) continue;
    state.unanswered = false;
    Give(worker);
    released.push_back({worker, state.completed_steps - 1, version, lead_steps, state.late});
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
  for (int worker = 0; worker < impl_->policy.workers; ++worker) impl_->Give(worker);
  return absl::OkStatus();
}

void ShardPart::NotePull(int worker) { impl_->Give(worker); }

bool ShardPart::initialized() const { return impl_->initialized; }

absl::StatusOr<PushResult> ShardPart::Push(int worker, int64_t step, int64_t version,
                                           const Payload& payload) {
  Impl& impl = *impl_;
  RETURN_IF_ERROR(impl.CheckPush(worker, step, version, payload));
  WorkerState& state = impl.workers[worker];
  PushResult result;
  result.staleness = impl.version - version;
  result.late = impl.IsLate(version);
  state.completed_steps = step + 1;
  state.unanswered = true;
  state.late = result.late;
  if (!result.late) {
    impl.staleness.Add(result.staleness);
    impl.Sum(worker, payload);
    impl.Correct(worker, result.staleness);
    state.answer_version = impl.version + 1;
  }
  if (impl.contributed == impl.policy.contributions) {
    if (impl.policy.contributions > 1) DivideBy(impl.sum.values(), impl.policy.contributions);
    if (impl.policy.clip_norm > 0) {
      result.told_squares = impl.TellSquares();
    } else {
      impl.Update(step);
      result.applied = true;
    }
  }
  result.released = impl.TakeReleases();
  result.held = result.applied && state.unanswered;
  return result;
}

absl::StatusOr<std::vector<Release>> ShardPart::GiveNorm(int worker, int64_t step, double norm) {
  Impl& impl = *impl_;
  CROSSOVER_CHECK(worker >= 0 && worker < impl.policy.workers, "the caller checks the rank");
  WorkerState& state = impl.workers[worker];
  const std::string who = absl::StrCat("norm of worker ", worker, " for step ", step, ": ");
  if (!state.owes_norm || step != state.completed_steps - 1) {
    return absl::FailedPreconditionError(
        absl::StrCat(who, "no update waits for it: a norm follows the squares of all parts"));
  }
  if (!impl.awaits_norm && std::bit_cast<uint64_t>(norm) != std::bit_cast<uint64_t>(impl.norm)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s%.17g, but others gave %.17g; fix: start all processes from one build",
                        who, norm, impl.norm));
  }
  if (norm < 0) {
    return absl::InvalidArgumentError(absl::StrCat(who, norm, "; allowed: 0 or more"));
  }
  state.owes_norm = false;
  if (std::exchange(impl.awaits_norm, false)) {
    impl.norm = norm;
    MultiplyBy(impl.sum.values(), ClipFactor(impl.policy.clip_norm, norm));
    impl.Update(step);
  }
  return impl.TakeReleases();
}

const SquareSum& ShardPart::squares() const { return impl_->squares; }

LeaveResult ShardPart::Leave(int worker) {
  CROSSOVER_CHECK(worker >= 0 && worker < impl_->policy.workers, "the caller checks the rank");
  LeaveResult result;
  impl_->workers[worker].left = true;
  result.released = impl_->TakeReleases();
  result.failure = impl_->CheckComplete();
  if (result.failure.ok()) return result;
  for (int other = 0; other < impl_->policy.workers; ++other) {
    WorkerState& state = impl_->workers[other];
    // Who only owes the norm of an update that has been made will be answered.
    const bool waits_for_update = state.answer_version > impl_->version;
    if (state.unanswered && !state.left && waits_for_update) result.stranded.push_back(other);
  }
  return result;
}

std::span<const float> ShardPart::parameters() const { return impl_->parameters; }
int64_t ShardPart::version() const { return impl_->version; }

int64_t ShardPart::state_bytes() const {
  int64_t bytes = 0;
  for (const WorkerState& state : impl_->workers) {
    bytes += static_cast<int64_t>(state.given.size() * sizeof(float));
  }
  if (impl_->optimizer) bytes += impl_->optimizer->state_bytes();
  if (impl_->outer) bytes += impl_->outer->state_bytes();
  return bytes;
}

const Histogram& ShardPart::staleness() const { return impl_->staleness; }
const RateSums& ShardPart::rates() const { return impl_->rates; }

}  // namespace crossover::ps
