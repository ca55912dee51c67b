#include "experiments/tuning.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/job.h"
#include "core/status.h"
#include "experiments/results/json_archive.h"
#include "experiments/results/result_fields.h"

namespace crossover::experiments {

template <typename Archive>
void Fields(Archive& a, TrialRecord& v) {
  a("job_name", v.job_name);
  a("model", v.model);
  a("strategy", v.strategy);
  a("steps", v.steps);
  a("seed", v.seed);
  a("trial", v.trial);
  a("failure", v.failure);
  a("start_time", v.start_time);
  a("wall_s", v.wall_s);
  a("job_fingerprint", v.job_fingerprint);
}

namespace {

std::string RateText(double rate) { return absl::StrFormat("%.4g", rate); }

int64_t Scaled(int64_t steps, int64_t trial_steps, int64_t total_steps) {
  return std::llround(static_cast<double>(steps) * static_cast<double>(trial_steps) /
                      static_cast<double>(total_steps));
}

// The job of one trial: shorter, its schedule with it, judged on held-out samples at its end.
proto::Job TrialJob(proto::Job job, double learning_rate, int64_t steps, int64_t total_steps) {
  job.mutable_learning_rate()->set_base(learning_rate);
  job.set_steps(steps);
  job.set_epochs(0);
  if (job.learning_rate().has_warmup_steps()) {
    job.mutable_learning_rate()->set_warmup_steps(
        Scaled(job.learning_rate().warmup_steps(), steps, total_steps));
  }
  if (job.local_sgd().has_first_phase_steps()) {
    job.mutable_local_sgd()->set_first_phase_steps(
        Scaled(job.local_sgd().first_phase_steps(), steps, total_steps));
  }
  if (job.data().validation_part() == 0) job.mutable_data()->set_validation_part(kValidationPart);
  job.mutable_measure()->set_evaluate_every_steps(steps);
  job.mutable_measure()->set_warmup_steps(std::min(job.measure().warmup_steps(), steps - 1));
  return job;
}

bool Diverged(const RunResult& result) {
  return std::any_of(result.loss_curve.begin(), result.loss_curve.end(),
                     [](const LossPoint& point) { return !std::isfinite(point.loss); });
}

}  // namespace

std::vector<double> LearningRateGrid(const proto::TuneLearningRate& tune) {
  std::vector<double> rates;
  const double ratio = tune.high() / tune.low();
  for (int i = 0; i < tune.trials(); ++i) {
    // Four digits, so that a report's rate is the one that was tried.
    const double rate = tune.low() * std::pow(ratio, static_cast<double>(i) / (tune.trials() - 1));
    rates.push_back(std::stod(RateText(rate)));
  }
  return rates;
}

int64_t TrialSteps(const proto::TuneLearningRate& tune, int64_t total_steps) {
  const auto steps = std::llround(tune.length() * static_cast<double>(total_steps));
  return std::clamp<int64_t>(steps, 1, total_steps);
}

absl::StatusOr<std::vector<PlannedTrial>> PlanTrials(
    const std::vector<proto::Job>& jobs, const std::map<proto::Model::Name, int64_t>& total_steps) {
  std::vector<PlannedTrial> trials;
  for (const proto::Job& job : jobs) {
    const proto::TuneLearningRate& tune = job.comparison().tune().lr();
    const int64_t job_steps = total_steps.at(job.model());
    const int64_t steps = TrialSteps(tune, job_steps);
    for (const double rate : LearningRateGrid(tune)) {
      for (const proto::Strategy::Name strategy : ComparedStrategies(job)) {
        PlannedTrial trial;
        trial.learning_rate = rate;
        trial.steps = steps;
        trial.run.job = TrialJob(job, rate, steps, job_steps);
        trial.run.job.set_strategy(strategy);
        trial.run.label = absl::StrCat("lr ", RateText(rate));
        trial.run.name =
            absl::StrFormat("tune-%03d-%s-%s-lr%s", trials.size() + 1, StrategyName(strategy),
                            proto::Model::Name_Name(job.model()), RateText(rate));
        RETURN_IF_ERROR(Annotate(
            ValidateJob(trial.run.job),
            absl::StrCat("search for the learning rate of ", StrategyName(strategy), ": ")));
        trial.run.job = WithDefaults(trial.run.job);
        trials.push_back(std::move(trial));
      }
    }
  }
  return trials;
}

TrialRecord RecordOf(const PlannedTrial& trial, const RunResult& result) {
  TrialRecord record;
  record.job_name = result.job_name;
  record.model = result.model;
  record.strategy = result.strategy;
  record.steps = trial.steps;
  record.seed = static_cast<int64_t>(trial.run.job.seed());
  record.trial.learning_rate = trial.learning_rate;
  if (!result.loss_curve.empty()) record.trial.loss = result.loss_curve.back().loss;
  if (result.ok() && !Diverged(result)) record.trial.validation_accuracy = result.test_accuracy;
  record.failure = result.failure;
  record.start_time = result.start_time;
  record.wall_s = result.wall_s;
  record.job_fingerprint = result.job_fingerprint;
  return record;
}

bool IsOf(const TrialRecord& record, const PlannedTrial& trial) {
  const proto::Job& job = trial.run.job;
  return record.job_name == job.name() && record.model == proto::Model::Name_Name(job.model()) &&
         record.strategy == StrategyName(job.strategy()) &&
         record.job_fingerprint == absl::StrFormat("%016x", JobFingerprint(job));
}

std::string ToJsonLine(const TrialRecord& record) { return WriteJson(record); }

absl::StatusOr<std::vector<TrialRecord>> ParseTrials(std::string_view jsonl) {
  std::vector<TrialRecord> records;
  for (int line_number = 1; !jsonl.empty(); ++line_number) {
    const std::string_view line = jsonl.substr(0, jsonl.find('\n'));
    jsonl.remove_prefix(std::min(jsonl.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    std::string error = ReadJson(line, records.emplace_back());
    if (error == kNotAnObject) {
      absl::StrAppend(&error, "; fix: take the line out, and --resume=FOLDER makes its trial");
    }
    if (!error.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("tuning line ", line_number, ": ", error));
    }
  }
  return records;
}

Tuning ChooseLearningRate(const proto::Job& job, int64_t trial_steps, uint64_t seed,
                          const std::vector<TrialRecord>& records) {
  Tuning tuning;
  tuning.budget = DescribeBudget(job, trial_steps, seed);
  tuning.chosen_learning_rate = job.learning_rate().base();
  double best = -1;
  for (const TrialRecord& record : records) {
    if (record.job_name != job.name() || record.model != proto::Model::Name_Name(job.model()) ||
        record.strategy != StrategyName(job.strategy())) {
      continue;
    }
    tuning.trials.push_back(record.trial);
  }
  std::stable_sort(
      tuning.trials.begin(), tuning.trials.end(),
      [](const TuneTrial& a, const TuneTrial& b) { return a.learning_rate < b.learning_rate; });
  for (const TuneTrial& trial : tuning.trials) {
    if (trial.validation_accuracy.value_or(-1) <= best) continue;
    best = *trial.validation_accuracy;
    tuning.chosen_learning_rate = trial.learning_rate;
  }
  return tuning;
}

std::string TuningWarning(const Tuning& tuning) {
  if (tuning.trials.empty()) return "";
  const auto worked = [](const TuneTrial& trial) { return trial.validation_accuracy.has_value(); };
  const std::string rate = RateText(tuning.chosen_learning_rate);
  if (std::none_of(tuning.trials.begin(), tuning.trials.end(), worked)) {
    return absl::StrCat("no learning rate of its search worked: the job's own, ", rate,
                        ", was kept");
  }
  const bool lowest = tuning.chosen_learning_rate <= tuning.trials.front().learning_rate;
  const bool highest = tuning.chosen_learning_rate >= tuning.trials.back().learning_rate;
  if (!lowest && !highest) return "";
  return absl::StrCat("the best learning rate of its search, ", rate, ", is the ",
                      lowest ? "lowest" : "highest",
                      " that was tried: a better one may lie beyond");
}

std::string DescribeBudget(const proto::Job& job, int64_t trial_steps, uint64_t seed) {
  const proto::TuneLearningRate& tune = job.comparison().tune().lr();
  return absl::StrFormat("%d rates from %s to %s, %d steps each, seed %d", tune.trials(),
                         RateText(tune.low()), RateText(tune.high()), trial_steps, seed);
}

std::string DescribeSearch(const proto::Job& job, int64_t total_steps) {
  const proto::TuneLearningRate& tune = job.comparison().tune().lr();
  if (tune.trials() == 0) return "";
  const int64_t steps = TrialSteps(tune, total_steps);
  const size_t strategies = ComparedStrategies(job).size();
  return absl::StrFormat(
      "Before these, a search for each strategy's learning rate: %s; %d extra runs, as long as "
      "%.1f of the runs above.\n",
      DescribeBudget(job, steps, job.seed()), strategies * static_cast<size_t>(tune.trials()),
      static_cast<double>(strategies) * tune.trials() * static_cast<double>(steps) /
          static_cast<double>(total_steps));
}

}  // namespace crossover::experiments
