#include "experiments/results/summary.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace crossover::experiments {
namespace {

// The element that matches, appended first if there is none.
template <typename T, typename Matches>
T& FindOrAppend(std::vector<T>& all, Matches matches, T fresh) {
  const auto found = std::find_if(all.begin(), all.end(), matches);
  if (found != all.end()) return *found;
  return all.emplace_back(std::move(fresh));
}

}  // namespace

std::vector<const RunResult*> Study::all() const {
  std::vector<const RunResult*> runs;
  for (const StrategySummary& strategy : strategies) {
    runs.insert(runs.end(), strategy.runs.begin(), strategy.runs.end());
    runs.insert(runs.end(), strategy.failed.begin(), strategy.failed.end());
  }
  return runs;
}

std::string Study::title() const { return absl::StrCat(job_name, " (", model, ")"); }

std::vector<Study> GroupResults(const std::vector<RunResult>& results) {
  std::vector<Study> studies;
  for (const RunResult& run : results) {
    Study& study = FindOrAppend(
        studies, [&](const Study& s) { return s.job_name == run.job_name && s.model == run.model; },
        Study{run.job_name, run.model, {}});
    StrategySummary& strategy = FindOrAppend(
        study.strategies, [&](const StrategySummary& s) { return s.strategy == run.strategy; },
        StrategySummary{run.strategy, {}, {}});
    (run.ok() ? strategy.runs : strategy.failed).push_back(&run);
  }
  const auto by_repetition = [](const RunResult* a, const RunResult* b) {
    return a->repetition < b->repetition;
  };
  for (Study& study : studies) {
    for (StrategySummary& strategy : study.strategies) {
      std::stable_sort(strategy.runs.begin(), strategy.runs.end(), by_repetition);
      std::stable_sort(strategy.failed.begin(), strategy.failed.end(), by_repetition);
    }
  }
  return studies;
}

std::map<int64_t, double> ByRepetition(const StrategySummary& strategy, const Figure& figure) {
  std::map<int64_t, double> values;
  for (const RunResult* run : strategy.runs) {
    const std::optional<double> value = figure(*run);
    if (value.has_value() && std::isfinite(*value)) values[run->repetition] = *value;
  }
  return values;
}

std::optional<FigureSummary> Summarize(const StrategySummary& strategy, const Figure& figure) {
  std::vector<double> values;
  for (const auto& [repetition, value] : ByRepetition(strategy, figure)) values.push_back(value);
  if (values.empty()) return std::nullopt;
  return FigureSummary{static_cast<int>(values.size()), Median(values), SpreadOf(values)};
}

const RunResult* TypicalRun(const StrategySummary& strategy) {
  if (strategy.runs.empty()) return nullptr;
  std::vector<const RunResult*> runs = strategy.runs;
  std::stable_sort(runs.begin(), runs.end(), [](const RunResult* a, const RunResult* b) {
    return a->samples_per_second < b->samples_per_second;
  });
  return runs[(runs.size() - 1) / 2];
}

std::vector<const StrategySummary*> Succeeded(const Study& study) {
  std::vector<const StrategySummary*> strategies;
  for (const StrategySummary& strategy : study.strategies) {
    if (!strategy.runs.empty()) strategies.push_back(&strategy);
  }
  return strategies;
}

const StrategySummary* FindStrategy(const Study& study, const std::string& strategy) {
  for (const StrategySummary& summary : study.strategies) {
    if (summary.strategy == strategy) return &summary;
  }
  return nullptr;
}

std::optional<double> Throughput(const RunResult& run) { return run.samples_per_second; }
std::optional<double> TestAccuracy(const RunResult& run) { return run.test_accuracy; }
std::optional<double> TimeToTarget(const RunResult& run) { return run.time_to_target_s; }
std::optional<double> CostToTarget(const RunResult& run) { return run.machine_seconds_to_target; }

}  // namespace crossover::experiments
