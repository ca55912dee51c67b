#include "experiments/report/diff.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/job.h"
#include "experiments/report/diff_job.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

// The seed that the run trained with; empty where its job cannot be read (another version's).
std::optional<uint64_t> SeedOf(const RunResult& run) {
  const absl::StatusOr<proto::Job> job = ParseJob(run.resolved_job, "resolved_job");
  if (!job.ok()) return std::nullopt;
  return job->seed();
}

// Runs whose seed is known.
using RunsBySeed = std::map<int64_t, const RunResult*>;

RunsBySeed SeedsOf(const StrategySummary& strategy) {
  RunsBySeed runs;
  for (const RunResult* run : strategy.runs) {
    const std::optional<uint64_t> seed = SeedOf(*run);
    if (seed.has_value()) runs[static_cast<int64_t>(*seed)] = run;
  }
  return runs;
}

std::map<int64_t, double> ValuesBySeed(const RunsBySeed& runs, const Figure& figure) {
  std::map<int64_t, double> values;
  for (const auto& [seed, run] : runs) {
    const std::optional<double> value = figure(*run);
    if (value.has_value() && std::isfinite(*value)) values[seed] = *value;
  }
  return values;
}

std::vector<double> ValuesOf(const StrategySummary& strategy, const Figure& figure) {
  std::vector<double> values;
  for (const auto& [repetition, value] : ByRepetition(strategy, figure)) values.push_back(value);
  return values;
}

// One strategy on both sides; its runs are pairs where both have the same seeds.
struct Sides {
  const StrategySummary& a;
  const StrategySummary& b;
  RunsBySeed seeds_a = SeedsOf(a);
  RunsBySeed seeds_b = SeedsOf(b);

  bool paired() const {
    return seeds_a.size() == a.runs.size() && seeds_b.size() == b.runs.size() &&
           std::equal(seeds_a.begin(), seeds_a.end(), seeds_b.begin(), seeds_b.end(),
                      [](const auto& x, const auto& y) { return x.first == y.first; });
  }
};

DiffRow MakeRow(const Sides& sides, int index) {
  const StrategySummary& a = sides.a;
  const StrategySummary& b = sides.b;
  const DiffMetric& metric = DiffMetrics()[index];
  DiffRow row;
  row.strategy = a.strategy;
  row.metric = index;
  row.a = Summarize(a, metric.figure);
  row.b = Summarize(b, metric.figure);
  const PairedDifference apart =
      CompareUnpaired(ValuesOf(b, metric.figure), ValuesOf(a, metric.figure));
  row.difference = sides.paired() ? Compare(ValuesBySeed(sides.seeds_b, metric.figure),
                                            ValuesBySeed(sides.seeds_a, metric.figure))
                                  : apart;
  const auto decided = [](const PairedDifference& difference) {
    return difference.comparison == Comparison::kHigher ||
           difference.comparison == Comparison::kLower;
  };
  row.exceeds_noise = decided(row.difference);
  if (metric.of_time && row.difference.spread.kind != SpreadKind::kBootstrap95) {
    row.exceeds_noise = row.exceeds_noise && apart.comparison == row.difference.comparison;
  }
  return row;
}

// Fields that differ, each with the strategies whose jobs do, in the order of the fields.
std::vector<std::string> JobDifferences(const Study& a, const Study& b) {
  std::vector<std::pair<std::string, std::vector<std::string>>> fields;
  size_t strategies = 0;
  for (const StrategySummary& of_a : a.strategies) {
    const StrategySummary* of_b = FindStrategy(b, of_a.strategy);
    if (of_b == nullptr || of_a.runs.empty() || of_b->runs.empty()) continue;
    ++strategies;
    const auto job_a = ParseJob(of_a.runs[0]->resolved_job, "A");
    const auto job_b = ParseJob(of_b->runs[0]->resolved_job, "B");
    if (!job_a.ok() || !job_b.ok()) {
      fields.push_back({"a job that this version cannot read, so that its fields are not compared",
                        {of_a.strategy}});
      continue;
    }
    for (const FieldDifference& field : DiffJobs(WithDefaults(*job_a), WithDefaults(*job_b))) {
      const std::string text = absl::StrCat(field.path, ": ", field.a, " in A, ", field.b, " in B");
      auto found = std::find_if(fields.begin(), fields.end(),
                                [&](const auto& entry) { return entry.first == text; });
      if (found == fields.end()) found = fields.insert(fields.end(), {text, {}});
      found->second.push_back(of_a.strategy);
    }
  }
  std::vector<std::string> texts;
  for (const auto& [text, of] : fields) {
    texts.push_back(
        of.size() == strategies ? text : absl::StrCat(text, " (", absl::StrJoin(of, ", "), ")"));
  }
  return texts;
}

void NoteStrategiesOfOneSide(const Study& from, const Study& other, const char* side,
                             DiffStudy& study) {
  for (const StrategySummary& strategy : from.strategies) {
    if (FindStrategy(other, strategy.strategy) == nullptr) {
      study.notes.push_back(absl::StrCat("only ", side, " ran ", strategy.strategy));
    }
    if (!strategy.failed.empty()) {
      study.notes.push_back(absl::StrCat(side, ": ", strategy.failed.size(), " of ",
                                         strategy.failed.size() + strategy.runs.size(), " runs of ",
                                         strategy.strategy, " failed; they are in no figure"));
    }
  }
}

DiffStudy CompareStudies(const Study& a, const Study& b) {
  DiffStudy study;
  study.title = a.title();
  if (b.title() != a.title()) absl::StrAppend(&study.title, " and ", b.title());
  study.job = JobDifferences(a, b);
  NoteStrategiesOfOneSide(a, b, "A", study);
  NoteStrategiesOfOneSide(b, a, "B", study);
  std::vector<std::string> unpaired;
  for (const StrategySummary& of_a : a.strategies) {
    const StrategySummary* of_b = FindStrategy(b, of_a.strategy);
    if (of_b == nullptr || of_a.runs.empty() || of_b->runs.empty()) continue;
    const Sides sides{of_a, *of_b};
    if (!sides.paired()) unpaired.push_back(of_a.strategy);
    for (size_t i = 0; i < DiffMetrics().size(); ++i) {
      DiffRow row = MakeRow(sides, static_cast<int>(i));
      if (row.a.has_value() || row.b.has_value()) study.rows.push_back(std::move(row));
    }
  }
  if (!unpaired.empty()) {
    study.notes.push_back(
        absl::StrCat("the seeds of A's and B's runs differ, so that they are "
                     "not paired: ",
                     absl::StrJoin(unpaired, ", ")));
  }
  return study;
}

// The different texts of the runs, in the order in which they appear.
std::string Joined(const std::vector<RunResult>& results,
                   const std::function<std::string(const RunResult&)>& text_of) {
  std::vector<std::string> texts;
  for (const RunResult& result : results) {
    const std::string found = text_of(result);
    const std::string text = found.empty() ? "unknown" : found;
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  return absl::StrJoin(texts, " and ");
}

std::vector<std::string> EnvironmentDifferences(const DiffSide& a, const DiffSide& b) {
  std::vector<std::string> differences;
  const auto compare = [&](const std::string& what,
                           const std::function<std::string(const RunResult&)>& text_of) {
    const std::string of_a = Joined(a.results, text_of), of_b = Joined(b.results, text_of);
    if (of_a != of_b) {
      differences.push_back(absl::StrCat(what, ": ", of_a, " in A, ", of_b, " in B"));
    }
  };
  compare("commit", [](const RunResult& run) {
    return absl::StrCat(run.environment.git_commit,
                        run.environment.git_dirty ? " with local changes" : "");
  });
  compare("host", [](const RunResult& run) { return run.environment.hostname; });
  compare("processor", [](const RunResult& run) { return run.environment.cpu_model; });
  compare("cores", [](const RunResult& run) { return absl::StrCat(run.environment.cores); });
  compare("memory", [](const RunResult& run) {
    return FormatBytes(static_cast<double>(run.environment.memory_bytes));
  });
  compare("kernel", [](const RunResult& run) { return run.environment.kernel; });
  compare("compiler", [](const RunResult& run) { return run.environment.compiler; });
  compare("BLAS", [](const RunResult& run) { return run.environment.blas_library; });
  compare("congestion control",
          [](const RunResult& run) { return run.environment.congestion_control; });
  std::set<std::string> names;
  for (const DiffSide* side : {&a, &b}) {
    for (const RunResult& run : side->results) {
      for (const auto& [name, version] : run.environment.versions) names.insert(name);
    }
  }
  for (const std::string& name : names) {
    compare(name, [&](const RunResult& run) {
      const auto found = run.environment.versions.find(name);
      return found == run.environment.versions.end() ? std::string("none") : found->second;
    });
  }
  compare("network", [](const RunResult& run) {
    const Network& network = run.network;
    return absl::StrCat(network.kind.empty() ? "loopback" : network.kind, ", ",
                        network.shaping.empty() ? "unshaped" : network.shaping,
                        network.placement.empty() ? "" : ", servers " + network.placement);
  });
  return differences;
}

// B's study of the same job; else, where each side has one left with this model, that one.
const Study* Partner(const Study& study, const std::vector<Study>& of_b) {
  const Study* same_model = nullptr;
  for (const Study& other : of_b) {
    if (other.title() == study.title()) return &other;
    if (other.model == study.model) same_model = &other;
  }
  return same_model;
}

std::optional<double> SentPerStep(const RunResult& run) {
  if (run.steps <= 0) return std::nullopt;
  return run.bytes_sent_per_step * static_cast<double>(run.synchronisations) /
         static_cast<double>(run.steps);
}

}  // namespace

const std::vector<DiffMetric>& DiffMetrics() {
  static const auto* const kMetrics = new std::vector<DiffMetric>{
      {"samples/s", Throughput, FormatNumber, false, true},
      {"step median ms", [](const RunResult& run) { return std::optional(run.step_ms_median); },
       FormatNumber, false, true},
      {"communication share",
       [](const RunResult& run) { return std::optional(run.communication_share); }, FormatPercent,
       true, true},
      {"test accuracy", TestAccuracy, FormatAccuracy, true, false},
      {"sent per step", SentPerStep, FormatBytes, false, false},
      {"time to target s", TimeToTarget, FormatNumber, false, true},
      {"cost machine-s", CostToTarget, FormatNumber, false, true},
  };
  return *kMetrics;
}

Diff MakeDiff(const DiffSide& a, const DiffSide& b) {
  Diff diff;
  diff.a = a.name;
  diff.b = b.name;
  diff.same_runs = std::equal(
      a.results.begin(), a.results.end(), b.results.begin(), b.results.end(),
      [](const RunResult& x, const RunResult& y) { return ToJsonLine(x) == ToJsonLine(y); });
  diff.environment = EnvironmentDifferences(a, b);
  const std::vector<Study> of_a = GroupResults(a.results), of_b = GroupResults(b.results);
  std::set<std::string> partners;
  for (const Study& study : of_a) {
    const Study* partner = Partner(study, of_b);
    if (partner == nullptr || !partners.insert(partner->title()).second) {
      diff.notes.push_back(absl::StrCat("only A has ", study.title()));
    } else {
      diff.studies.push_back(CompareStudies(study, *partner));
    }
  }
  for (const Study& study : of_b) {
    if (!partners.contains(study.title())) {
      diff.notes.push_back(absl::StrCat("only B has ", study.title()));
    }
  }
  return diff;
}

}  // namespace crossover::experiments
