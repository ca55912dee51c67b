#include "experiments/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_format.h"
#include "core/job.h"
#include "experiments/results/result_fixture.h"

namespace crossover::experiments {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

proto::Job SearchedJob() {
  proto::Job job;
  job.mutable_comparison()->add_strategies(proto::Strategy::ps_sync);
  job.mutable_comparison()->add_strategies(proto::Strategy::ps_async);
  proto::TuneLearningRate& tune = *job.mutable_comparison()->mutable_tune()->mutable_lr();
  tune.set_trials(3);
  tune.set_low(0.01);
  tune.set_high(1);
  tune.set_length(0.25);
  return WithDefaults(job);
}

std::vector<PlannedTrial> Planned(const proto::Job& job, int64_t total_steps = 400) {
  auto trials = PlanTrials({job}, {{job.model(), total_steps}});
  EXPECT_TRUE(trials.ok()) << trials.status();
  return trials.ok() ? *trials : std::vector<PlannedTrial>();
}

TrialRecord Record(const std::string& strategy, double rate, std::optional<double> accuracy) {
  TrialRecord record;
  record.job_name = "fashion-mlp";
  record.model = "mlp";
  record.strategy = strategy;
  record.trial = {rate, accuracy, 0.5};
  return record;
}

TEST(LearningRateGridTest, IsEvenOnALogarithmicScaleAndHoldsBothEnds) {
  proto::TuneLearningRate tune;
  EXPECT_THAT(LearningRateGrid(tune), IsEmpty());
  tune.set_trials(4);
  tune.set_low(0.0125);
  tune.set_high(0.8);
  EXPECT_THAT(LearningRateGrid(tune), ElementsAre(0.0125, 0.05, 0.2, 0.8));
  tune.set_trials(2);
  EXPECT_THAT(LearningRateGrid(tune), ElementsAre(0.0125, 0.8));
}

TEST(TrialStepsTest, AreAPartOfTheJobsAndAtLeastOne) {
  proto::TuneLearningRate tune;
  tune.set_length(0.34);
  EXPECT_EQ(TrialSteps(tune, 708), 241);
  EXPECT_EQ(TrialSteps(tune, 1), 1);
  tune.set_length(1);
  EXPECT_EQ(TrialSteps(tune, 708), 708);
}

TEST(PlanTrialsTest, GivesEveryStrategyTheSameBudget) {
  const std::vector<PlannedTrial> trials = Planned(SearchedJob());
  ASSERT_EQ(trials.size(), 6u);
  std::map<std::string, std::vector<double>> rates;
  std::set<std::string> names;
  for (const PlannedTrial& trial : trials) {
    rates[StrategyName(trial.run.job.strategy())].push_back(trial.learning_rate);
    names.insert(trial.run.name);
    EXPECT_EQ(trial.run.job.learning_rate().base(), trial.learning_rate);
    EXPECT_EQ(trial.run.job.steps(), 100);
    EXPECT_EQ(trial.run.job.epochs(), 0);
    EXPECT_EQ(trial.run.job.seed(), 1u);
    // Judged on training samples that it did not train on, once, at its end.
    EXPECT_EQ(trial.run.job.data().validation_part(), kValidationPart);
    EXPECT_EQ(trial.run.job.measure().evaluate_every_steps(), 100);
  }
  EXPECT_THAT(rates["ps_sync"], ElementsAre(0.01, 0.1, 1));
  EXPECT_EQ(rates["ps_async"], rates["ps_sync"]);
  EXPECT_EQ(names.size(), 6u);
  EXPECT_EQ(trials[0].run.label, "lr 0.01");
}

TEST(PlanTrialsTest, ScalesCountsOfStepsToTheTrial) {
  proto::Job job = SearchedJob();
  job.mutable_learning_rate()->set_warmup_steps(40);
  job.mutable_local_sgd()->set_first_phase_steps(200);
  job.mutable_measure()->set_warmup_steps(150);
  const std::vector<PlannedTrial> trials = Planned(job);
  ASSERT_FALSE(trials.empty());
  EXPECT_EQ(trials[0].run.job.learning_rate().warmup_steps(), 10);
  EXPECT_EQ(trials[0].run.job.local_sgd().first_phase_steps(), 50);
  EXPECT_EQ(trials[0].run.job.measure().warmup_steps(), 99);
}

TEST(PlanTrialsTest, WithoutASearchThereAreNone) { EXPECT_THAT(Planned(proto::Job()), IsEmpty()); }

TEST(TrialRecordTest, ADivergedTrialCountsWithoutAnAccuracy) {
  const PlannedTrial trial = Planned(SearchedJob()).back();
  RunResult result = MadeUpRun("ps_async", 2, 0, 40000, 0.85);
  TrialRecord record = RecordOf(trial, result);
  EXPECT_EQ(record.trial.validation_accuracy, 0.85);
  EXPECT_EQ(record.trial.learning_rate, 1);
  result.loss_curve[100].loss = std::nan("");
  record = RecordOf(trial, result);
  EXPECT_TRUE(record.ok());
  EXPECT_FALSE(record.trial.validation_accuracy.has_value());
}

TEST(TrialRecordTest, RoundTripAndErrors) {
  TrialRecord record = Record("ps_sync", 0.1, 0.8);
  record.job_fingerprint = "00c0ffee00c0ffee";
  record.trial.loss = std::nan("");
  const auto parsed = ParseTrials(ToJsonLine(record) + "\n\n" + ToJsonLine(record) + "\n");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ(ToJsonLine((*parsed)[1]), ToJsonLine(record));
  EXPECT_THAT(std::string(ParseTrials("{}").status().message()),
              StartsWith("tuning line 1: field 'job_name' is missing"));
}

TEST(TrialRecordTest, IsOfItsOwnTrialAlone) {
  const std::vector<PlannedTrial> trials = Planned(SearchedJob());
  TrialRecord record = Record("ps_sync", 0.01, 0.8);
  EXPECT_FALSE(IsOf(record, trials[0]));
  record.job_fingerprint = absl::StrFormat("%016x", JobFingerprint(trials[0].run.job));
  EXPECT_TRUE(IsOf(record, trials[0]));
  EXPECT_FALSE(IsOf(record, trials[2]));
}

TEST(ChooseLearningRateTest, TakesTheMostAccurateOfItsOwnStrategy) {
  proto::Job job = SearchedJob();
  job.set_strategy(proto::Strategy::ps_sync);
  const std::vector<TrialRecord> records = {
      Record("ps_sync", 1, std::nullopt), Record("ps_async", 0.5, 0.99),
      Record("ps_sync", 0.01, 0.7), Record("ps_sync", 0.1, 0.8)};
  const Tuning tuning = ChooseLearningRate(job, 100, 1, records);
  EXPECT_EQ(tuning.chosen_learning_rate, 0.1);
  ASSERT_EQ(tuning.trials.size(), 3u);
  EXPECT_EQ(tuning.trials[0].learning_rate, 0.01);
  EXPECT_EQ(tuning.budget, "3 rates from 0.01 to 1, 100 steps each, seed 1");
  EXPECT_EQ(TuningWarning(tuning), "");
}

TEST(ChooseLearningRateTest, OfEqualOnesTakesTheLower) {
  proto::Job job = SearchedJob();
  job.set_strategy(proto::Strategy::ps_sync);
  const Tuning tuning =
      ChooseLearningRate(job, 100, 1, {Record("ps_sync", 0.1, 0.8), Record("ps_sync", 0.01, 0.8)});
  EXPECT_EQ(tuning.chosen_learning_rate, 0.01);
}

TEST(TuningWarningTest, NamesAnEdgeAndAFruitlessSearch) {
  proto::Job job = SearchedJob();
  job.set_strategy(proto::Strategy::ps_sync);
  const auto warn = [&](std::optional<double> low, std::optional<double> middle,
                        std::optional<double> high) {
    return TuningWarning(
        ChooseLearningRate(job, 100, 1,
                           {Record("ps_sync", 0.01, low), Record("ps_sync", 0.1, middle),
                            Record("ps_sync", 1, high)}));
  };
  EXPECT_THAT(warn(0.8, 0.7, 0.6), HasSubstr("0.01, is the lowest that was tried"));
  EXPECT_THAT(warn(0.5, 0.7, 0.8), HasSubstr("1, is the highest that was tried"));
  EXPECT_EQ(warn(0.5, 0.8, std::nullopt), "");
  EXPECT_THAT(warn({}, {}, {}), HasSubstr("the job's own, 0.2, was kept"));
}

TEST(DescribeSearchTest, CountsTheExtraRuns) {
  EXPECT_EQ(DescribeSearch(proto::Job(), 400), "");
  const std::string text = DescribeSearch(SearchedJob(), 400);
  EXPECT_THAT(text, HasSubstr("3 rates from 0.01 to 1, 100 steps each, seed 1"));
  EXPECT_THAT(text, HasSubstr("6 extra runs, as long as 1.5 of the runs above"));
}

}  // namespace
}  // namespace crossover::experiments
