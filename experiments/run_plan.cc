#include "experiments/run_plan.h"

#include "absl/strings/str_format.h"
#include "core/job.h"
#include "core/status.h"

namespace crossover::experiments {
namespace {

absl::StatusOr<proto::Job> JobUnder(const proto::Job& job, proto::Strategy::Name strategy) {
  proto::Job under = job;
  under.set_strategy(strategy);
  RETURN_IF_ERROR(Annotate(ValidateJob(under), absl::StrCat("job \"", job.name(), "\" under ",
                                                            StrategyName(strategy), ": ")));
  return WithDefaults(under);
}

}  // namespace

proto::Job LenetJob(proto::Job job) {
  job.set_model(proto::Model::lenet);
  // The default rate is the mlp's: lenet diverges at it. One that the user chose stays.
  if (job.learning_rate().base() == proto::LearningRate().base()) {
    job.mutable_learning_rate()->set_base(0.05);
  }
  return job;
}

// The ways that differ in kind; the others vary one of them.
constexpr proto::Strategy::Name kComparedByDefault[] = {
    proto::Strategy::single,   proto::Strategy::ps_sync,        proto::Strategy::ps_ssp,
    proto::Strategy::ps_async, proto::Strategy::allreduce_ring, proto::Strategy::local_sgd,
};

std::vector<proto::Strategy::Name> ComparedStrategies(const proto::Job& job) {
  std::vector<proto::Strategy::Name> strategies;
  for (int i = 0; i < job.comparison().strategies_size(); ++i) {
    strategies.push_back(job.comparison().strategies(i));
  }
  if (!strategies.empty()) return strategies;
  for (const proto::Strategy::Name strategy : kComparedByDefault) {
    proto::Job under = job;
    under.set_strategy(strategy);
    if (job.deterministic() && !ValidateJob(under).ok()) continue;
    strategies.push_back(under.strategy());
  }
  return strategies;
}

absl::StatusOr<std::vector<PlannedRun>> PlanRuns(const std::vector<proto::Job>& jobs) {
  std::vector<PlannedRun> runs;
  if (jobs.empty()) return runs;
  const int repetitions = jobs.front().comparison().repetitions();
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (const proto::Job& job : jobs) {
      const std::vector<proto::Strategy::Name> strategies = ComparedStrategies(job);
      if (strategies.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "job \"", job.name(), "\": no strategy can run it: ", ValidateJob(job).message()));
      }
      for (size_t i = 0; i < strategies.size(); ++i) {
        PlannedRun run;
        run.index = static_cast<int>(runs.size());
        run.repetition = repetition;
        proto::Job repeated = job;
        repeated.set_seed(job.seed() + static_cast<uint64_t>(repetition));
        ASSIGN_OR_RETURN(run.job,
                         JobUnder(repeated, strategies[(i + repetition) % strategies.size()]));
        run.label = absl::StrCat("r", repetition + 1);
        run.name = absl::StrFormat("%03d-%s-%s-%s", run.index + 1, StrategyName(run.job.strategy()),
                                   proto::Model::Name_Name(run.job.model()), run.label);
        runs.push_back(std::move(run));
      }
    }
  }
  return runs;
}

}  // namespace crossover::experiments
