// The search for each strategy's learning rate before the measured runs (`tune { lr }` of
// the comparison), since one shared rate suits some strategies better than others. Every
// strategy gets the same budget: so many rates, evenly apart on a logarithmic scale, each
// trained for the same part of the job's steps with the schedule scaled to it, from the
// job's seed. The rate with the highest accuracy on held-out training samples wins: the
// test set has no part in the choice. Pure.
#ifndef CROSSOVER_EXPERIMENTS_TUNING_H_
#define CROSSOVER_EXPERIMENTS_TUNING_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/results/result.h"
#include "experiments/run_plan.h"
#include "proto/job.pb.h"

namespace crossover::experiments {

// Part of the training samples that trials are judged on, where the job holds out none itself.
inline constexpr double kValidationPart = 0.1;

// From low to high, both included; empty without a search. `tune` is validated.
std::vector<double> LearningRateGrid(const proto::TuneLearningRate& tune);

// Steps of a trial of a job that trains for `total_steps`: at least 1.
int64_t TrialSteps(const proto::TuneLearningRate& tune, int64_t total_steps);

struct PlannedTrial {
  double learning_rate = 0;  // learning_rate.base of run.job
  int64_t steps = 0;
  PlannedRun run;  // index and repetition do not count
};

// Every rate under every strategy of every job, rate by rate. `total_steps` by model.
absl::StatusOr<std::vector<PlannedTrial>> PlanTrials(
    const std::vector<proto::Job>& jobs, const std::map<proto::Model::Name, int64_t>& total_steps);

// A trial that has ended: a line of tuning.jsonl.
struct TrialRecord {
  std::string job_name;
  std::string model;
  std::string strategy;
  int64_t steps = 0;
  int64_t seed = 0;
  TuneTrial trial;
  std::string failure;  // "" unless the run failed; one that diverged has not
  std::string start_time;
  double wall_s = 0;
  std::string job_fingerprint;  // of the trial's job

  bool ok() const { return failure.empty(); }
};

// `result` is the trial's run. A trial whose loss stopped being finite has no accuracy.
TrialRecord RecordOf(const PlannedTrial& trial, const RunResult& result);
// Whether the record is of this trial.
bool IsOf(const TrialRecord& record, const PlannedTrial& trial);

// A line of JSON without the newline, and back. Errors: "tuning line N: ...".
std::string ToJsonLine(const TrialRecord& record);
absl::StatusOr<std::vector<TrialRecord>> ParseTrials(std::string_view jsonl);

// What was searched and found for the strategy of `job` (a planned run's); `seed` is the
// trials'. Without an accuracy
// in any of its trials the job's own rate is kept.
Tuning ChooseLearningRate(const proto::Job& job, int64_t trial_steps, uint64_t seed,
                          const std::vector<TrialRecord>& records);

// What a reader must know of the search's outcome: that the best rate lies at the edge of
// what was searched, or that no rate worked. "" if nothing.
std::string TuningWarning(const Tuning& tuning);

// "5 rates from 0.0125 to 0.8, 241 steps each, seed 1".
std::string DescribeBudget(const proto::Job& job, int64_t trial_steps, uint64_t seed);
// What the search adds to the comparison, for a dry run; "" without a search.
std::string DescribeSearch(const proto::Job& job, int64_t total_steps);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_TUNING_H_
