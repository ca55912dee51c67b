#include "experiments/report/tuning_table.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

std::string Rate(double rate) { return absl::StrFormat("%.4g", rate); }

// "0.0125: 71.20%, 0.05: 80.10%, 0.2: none".
std::string Tried(const Tuning& tuning) {
  std::vector<std::string> trials;
  for (const TuneTrial& trial : tuning.trials) {
    trials.push_back(absl::StrCat(Rate(trial.learning_rate), ": ",
                                  trial.validation_accuracy.has_value()
                                      ? FormatAccuracy(*trial.validation_accuracy)
                                      : "none"));
  }
  return absl::StrJoin(trials, ", ");
}

std::string BestAccuracy(const Tuning& tuning) {
  for (const TuneTrial& trial : tuning.trials) {
    if (trial.learning_rate == tuning.chosen_learning_rate &&
        trial.validation_accuracy.has_value()) {
      return FormatAccuracy(*trial.validation_accuracy);
    }
  }
  return "n/a";
}

std::string Place(const Tuning& tuning) {
  if (tuning.trials.empty() || BestAccuracy(tuning) == "n/a") return "none worked";
  if (tuning.chosen_learning_rate <= tuning.trials.front().learning_rate) return "lowest tried";
  if (tuning.chosen_learning_rate >= tuning.trials.back().learning_rate) return "highest tried";
  return "inside";
}

}  // namespace

std::optional<Table> TuningTable(const Study& study) {
  Table table{
      "Search for the learning rate",
      "",
      {{"Strategy", ""},
       {"Chosen", "learning_rate.base of the measured runs: the most accurate trial's."},
       {"Its accuracy",
        "On training samples held out of the trial, at its end; the test set has no part in "
        "the choice."},
       {"Where", "At an edge of what was tried, a better rate may lie beyond."},
       {"Tried",
        "Rates and their accuracy; none: the loss stopped being finite, or the run "
        "failed."}},
      {}};
  for (const StrategySummary& strategy : study.strategies) {
    const RunResult* run = strategy.runs.empty() ? nullptr : strategy.runs[0];
    if (run == nullptr || !run->tuning.has_value()) continue;
    const Tuning& tuning = *run->tuning;
    table.note =
        absl::StrCat("The same budget for each strategy, before the measured runs: ", tuning.budget,
                     ". The time of the search is in no figure of the comparison.");
    table.rows.push_back({strategy.strategy, Rate(tuning.chosen_learning_rate),
                          BestAccuracy(tuning), Place(tuning), Tried(tuning)});
  }
  if (table.rows.empty()) return std::nullopt;
  return table;
}

}  // namespace crossover::experiments
