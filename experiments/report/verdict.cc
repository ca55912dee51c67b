#include "experiments/report/verdict.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "experiments/report/interruption.h"
#include "experiments/results/format.h"
#include "experiments/results/statistics.h"

namespace crossover::experiments {
namespace {

constexpr char kBaseline[] = "single";

// "a", "a and b", "a, b and c".
std::string List(const std::vector<std::string>& names) {
  if (names.size() < 2) return absl::StrJoin(names, "");
  return absl::StrCat(absl::StrJoin(names.begin(), names.end() - 1, ", "), " and ", names.back());
}

enum class Better { kHigher, kLower };

// The strategy with the best median and those that no paired difference sets apart from it.
struct Ranking {
  const StrategySummary* best = nullptr;  // null: none has the figure
  std::vector<std::string> tied;          // with best first; 1 entry: it stands alone
  bool unknown = false;                   // too few repetitions to tell
  bool alone = true;                      // no other strategy has the figure
};

Ranking Rank(const std::vector<const StrategySummary*>& strategies, const Figure& figure,
             Better better) {
  Ranking ranking;
  double best_median = 0;
  for (const StrategySummary* strategy : strategies) {
    const auto summary = Summarize(*strategy, figure);
    if (!summary.has_value()) continue;
    const double median = better == Better::kHigher ? summary->median : -summary->median;
    if (ranking.best != nullptr && median <= best_median) continue;
    ranking.best = strategy;
    best_median = median;
  }
  if (ranking.best == nullptr) return ranking;
  ranking.tied.push_back(ranking.best->strategy);
  for (const StrategySummary* strategy : strategies) {
    if (strategy == ranking.best || !Summarize(*strategy, figure).has_value()) continue;
    ranking.alone = false;
    const PairedDifference difference =
        Compare(ByRepetition(*ranking.best, figure), ByRepetition(*strategy, figure));
    if (difference.comparison == Comparison::kUnknown) ranking.unknown = true;
    const Comparison wins = better == Better::kHigher ? Comparison::kHigher : Comparison::kLower;
    if (difference.comparison != wins) ranking.tied.push_back(strategy->strategy);
  }
  return ranking;
}

// "X had the highest throughput of those that synchronise: 49,100 samples/s (...)", or the tie, or
// that one repetition cannot tell.
std::string Announce(const Ranking& ranking, const Figure& figure, const std::string& what,
                     const std::string& unit) {
  const std::string value =
      absl::StrCat(FormatFigure(*ranking.best, figure, FormatNumber), " ", unit);
  const std::string& name = ranking.best->strategy;
  if (ranking.unknown) {
    return absl::StrCat("In too few common repetitions to tell a difference from chance, ", name,
                        " measured the ", what, ": ", value, ".");
  }
  if (ranking.tied.size() > 1) {
    return absl::StrCat("The ", what, " is a tie of ", List(ranking.tied), "; ", name,
                        " has the best median: ", value, ".");
  }
  return absl::StrCat(name, " had the ", what, ": ", value, ".");
}

// Every strategy but the baseline, which is no way of synchronising; itself if alone.
std::vector<const StrategySummary*> Contenders(const Study& study) {
  std::vector<const StrategySummary*> contenders, all;
  for (const StrategySummary& strategy : study.strategies) {
    if (strategy.runs.empty()) continue;
    all.push_back(&strategy);
    if (strategy.strategy != kBaseline) contenders.push_back(&strategy);
  }
  return contenders.empty() ? all : contenders;
}

// " That is 1.2 times single's ..." for the leader, if there is a baseline.
std::string AgainstBaseline(const Study& study, const StrategySummary& leader) {
  const StrategySummary* baseline = FindStrategy(study, kBaseline);
  if (baseline == nullptr || baseline == &leader) return "";
  const std::optional<FigureSummary> base_figure = Summarize(*baseline, Throughput);
  if (!base_figure.has_value()) return "";
  const double ratio = Summarize(leader, Throughput)->median / base_figure->median;
  const std::string base =
      absl::StrFormat("%s times that of single (one process, %s samples/s)", FormatNumber(ratio),
                      FormatFigure(*baseline, Throughput, FormatNumber));
  switch (
      Compare(ByRepetition(leader, Throughput), ByRepetition(*baseline, Throughput)).comparison) {
    case Comparison::kHigher:
      return absl::StrCat(" Its median is ", base, ".");
    case Comparison::kLower:
      return absl::StrCat(" No strategy was faster than one process here: its median is ", base,
                          ".");
    case Comparison::kTie:
      return absl::StrCat(" It ties with one process: its median is ", base, ".");
    case Comparison::kUnknown:
      return absl::StrCat(" Its figure is ", base, "; too few repetitions to tell them apart.");
  }
  return "";
}

// Of one strategy there is a figure, and no best.
std::string OnlyOne(const Study& study, const StrategySummary& strategy) {
  const std::string figure =
      absl::StrCat(FormatFigure(strategy, Throughput, FormatNumber), " samples/s.");
  const std::string against = AgainstBaseline(study, strategy);
  if (!against.empty()) {
    return absl::StrCat("Only ", strategy.strategy, " synchronises: ", figure, against);
  }
  const bool others_failed = study.strategies.size() > 1;
  return absl::StrCat("Only ", strategy.strategy,
                      others_failed ? " has finished runs: " : " ran: ", figure,
                      " There is nothing to compare it with.");
}

void SayThroughput(const Study& study, Verdict& verdict) {
  const Ranking ranking = Rank(Contenders(study), Throughput, Better::kHigher);
  if (ranking.best == nullptr) return;
  if (ranking.alone) {
    verdict.sentences.push_back(OnlyOne(study, *ranking.best));
    return;
  }
  verdict.sentences.push_back(absl::StrCat(
      Announce(ranking, Throughput, "highest throughput of those that synchronise", "samples/s"),
      AgainstBaseline(study, *ranking.best)));
}

bool WasEvaluated(const StrategySummary& strategy) {
  return std::any_of(strategy.runs.begin(), strategy.runs.end(),
                     [](const RunResult* run) { return run->test_accuracy.has_value(); });
}

// Only strategies that reached the target in every repetition are compared.
void SayTarget(const Study& study, Verdict& verdict) {
  std::vector<const StrategySummary*> reached;
  std::vector<std::string> sometimes, never;
  double target = 0;
  for (const StrategySummary& strategy : study.strategies) {
    if (!WasEvaluated(strategy)) continue;
    target = strategy.runs[0]->target_accuracy;
    const size_t count = ByRepetition(strategy, TimeToTarget).size();
    if (count == strategy.runs.size()) {
      reached.push_back(&strategy);
    } else if (count > 0) {
      sometimes.push_back(
          absl::StrCat(strategy.strategy, " (", count, " of ", strategy.runs.size(), ")"));
    } else {
      never.push_back(strategy.strategy);
    }
  }
  const std::string goal = absl::StrCat(FormatAccuracy(target), " test accuracy");
  std::string text;
  if (reached.empty() && sometimes.empty()) {
    if (!never.empty()) text = absl::StrCat("No run reached ", goal, ".");
  } else if (reached.size() == 1) {
    text =
        absl::StrCat(reached[0]->strategy, " reached ", goal, " after ",
                     FormatFigure(*reached[0], TimeToTarget, FormatNumber), " s of training, for ",
                     FormatFigure(*reached[0], CostToTarget, FormatNumber), " machine-seconds.");
  } else if (!reached.empty()) {
    const Ranking soonest = Rank(reached, TimeToTarget, Better::kLower);
    const Ranking cheapest = Rank(reached, CostToTarget, Better::kLower);
    text = absl::StrCat(
        Announce(soonest, TimeToTarget, absl::StrCat("shortest training time to ", goal), "s"), " ",
        Announce(cheapest, CostToTarget, "lowest cost to it", "machine-seconds"));
  }
  if (!sometimes.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : " ", goal,
                    " was reached in only some repetitions by ", List(sometimes), ".");
  }
  if (!never.empty() && !(reached.empty() && sometimes.empty())) {
    absl::StrAppend(&text, " It was not reached by ", List(never), ".");
  }
  if (!text.empty()) verdict.sentences.push_back(text);
}

// Against the baseline where it ran, else against the most accurate.
void SayAccuracy(const Study& study, Verdict& verdict) {
  std::vector<const StrategySummary*> all;
  for (const StrategySummary& strategy : study.strategies) {
    if (Summarize(strategy, TestAccuracy).has_value()) all.push_back(&strategy);
  }
  if (all.size() < 2) return;
  const StrategySummary* reference = FindStrategy(study, kBaseline);
  if (reference == nullptr || !Summarize(*reference, TestAccuracy).has_value()) {
    reference = Rank(all, TestAccuracy, Better::kHigher).best;
  }
  std::vector<std::string> lower, higher, tied, unknown;
  for (const StrategySummary* strategy : all) {
    if (strategy == reference) continue;
    const PairedDifference difference =
        Compare(ByRepetition(*strategy, TestAccuracy), ByRepetition(*reference, TestAccuracy));
    const std::string points =
        absl::StrFormat("%s (%.2f points)", strategy->strategy, 100 * std::abs(difference.median));
    switch (difference.comparison) {
      case Comparison::kLower:
        lower.push_back(points);
        break;
      case Comparison::kHigher:
        higher.push_back(points);
        break;
      case Comparison::kTie:
        tied.push_back(strategy->strategy);
        break;
      case Comparison::kUnknown:
        unknown.push_back(strategy->strategy);
        break;
    }
  }
  std::string text =
      absl::StrCat("Test accuracy of ", reference->strategy,
                   " at the end: ", FormatFigure(*reference, TestAccuracy, FormatAccuracy), ".");
  if (!lower.empty()) absl::StrAppend(&text, " Less accurate: ", List(lower), ".");
  if (!higher.empty()) absl::StrAppend(&text, " More accurate: ", List(higher), ".");
  if (!tied.empty()) absl::StrAppend(&text, " Not told apart from it: ", List(tied), ".");
  if (!unknown.empty()) {
    absl::StrAppend(&text, " Too few common repetitions to compare: ", List(unknown), ".");
  }
  verdict.sentences.push_back(text);
}

std::string Processes(const RunResult& run) { return absl::StrCat(run.workers + run.servers); }

void AddMachineCaveat(const Study& study, Verdict& verdict) {
  int64_t most = 0, cores = 0;
  bool unshaped_loopback = false;
  for (const RunResult* run : study.all()) {
    // Emulated compute is waited out: it takes no core from anyone. Hosts' cores are not ours.
    const bool shares_cores = run->model != "emulated" && run->network.kind != "hosts";
    if (shares_cores && run->environment.cores > 0 && run->workers + run->servers > most) {
      most = run->workers + run->servers;
      cores = run->environment.cores;
    }
    unshaped_loopback |= run->network.loopback && run->network.shaping.empty();
  }
  std::vector<std::string> reasons;
  if (most > cores) {
    reasons.push_back(
        absl::StrCat("up to ", most, " processes shared ", cores, cores == 1 ? " core" : " cores"));
  }
  if (unshaped_loopback) reasons.push_back("messages went over an unshaped loopback");
  if (reasons.empty()) return;
  verdict.caveats.push_back(absl::StrCat("These figures measure this machine, not a cluster: ",
                                         List(reasons), ". No verdict on clusters follows."));
}

// Machines in the network lab and on hosts; on one machine processes, each of which stands
// for one.
void AddResourceCaveat(const Study& study, Verdict& verdict) {
  std::vector<std::string> counts;
  std::set<std::string> different;
  bool one_machine = false;
  for (const StrategySummary* strategy : Contenders(study)) {
    const RunResult& run = *strategy->runs[0];
    const bool on_one = run.network.kind.empty() || run.network.kind == "loopback";
    one_machine = one_machine || on_one;
    const std::string count = on_one ? Processes(run) : absl::StrCat(run.nodes);
    different.insert(count);
    counts.push_back(absl::StrCat(strategy->strategy, " ", count));
  }
  if (different.size() < 2) return;
  verdict.caveats.push_back(
      absl::StrCat("The strategies did not have equal resources. ",
                   one_machine ? "Processes" : "Machines", ", servers included: ", List(counts),
                   ".", one_machine ? " Machine-seconds count one machine for each." : ""));
}

void AddRepetitionCaveat(const Study& study, Verdict& verdict) {
  size_t fewest = SIZE_MAX;
  for (const StrategySummary& strategy : study.strategies) {
    if (!strategy.runs.empty()) fewest = std::min(fewest, strategy.runs.size());
  }
  if (fewest >= kBootstrapRepetitions) return;
  verdict.caveats.push_back(
      fewest == 1
          ? std::string("Some strategy has only one repetition: its spread is unknown.")
          : absl::StrCat("With fewer than ", kBootstrapRepetitions, " repetitions (here ", fewest,
                         ") figures in brackets are ranges, not confidence intervals."));
}

// Of strategies whose training ended on its way.
void AddAccuracyCaveat(const Study& study, Verdict& verdict) {
  std::vector<std::string> short_of_it;
  for (const StrategySummary& strategy : study.strategies) {
    if (!Summarize(strategy, TestAccuracy).has_value()) continue;
    if (!ByRepetition(strategy, TimeToTarget).empty()) continue;
    short_of_it.push_back(
        absl::StrCat(strategy.strategy, " (", strategy.runs[0]->steps, " steps)"));
  }
  if (short_of_it.empty()) return;
  verdict.caveats.push_back(
      absl::StrCat("Ended short of the target accuracy: ", List(short_of_it),
                   ". An accuracy on the way does not tell a strategy that learns more slowly, as "
                   "asynchronous ones often do, from one that ends lower."));
}

// Notes of runs, once each, with the strategies that they are about.
void AddNotes(const Study& study, Verdict& verdict) {
  std::vector<std::pair<std::string, std::vector<std::string>>> notes;
  for (const StrategySummary& strategy : study.strategies) {
    for (const RunResult* run : strategy.runs) {
      for (const std::string& note : run->notes) {
        auto found = std::find_if(notes.begin(), notes.end(),
                                  [&](const auto& entry) { return entry.first == note; });
        if (found == notes.end()) found = notes.insert(notes.end(), {note, {}});
        std::vector<std::string>& names = found->second;
        if (names.empty() || names.back() != strategy.strategy) names.push_back(strategy.strategy);
      }
    }
  }
  for (const auto& [note, names] : notes) {
    verdict.caveats.push_back(absl::StrCat(List(names), ": ", note, "."));
  }
}

void AddCaveats(const Study& study, Verdict& verdict) {
  const std::vector<const StrategySummary*> contenders = Contenders(study);
  if (contenders.empty()) return;
  AddMachineCaveat(study, verdict);
  for (const std::string& caveat : InterruptionCaveats(study)) verdict.caveats.push_back(caveat);
  AddRepetitionCaveat(study, verdict);
  AddResourceCaveat(study, verdict);
  AddAccuracyCaveat(study, verdict);
  const StrategySummary* baseline = FindStrategy(study, kBaseline);
  if (baseline != nullptr && !baseline->runs.empty() && contenders[0] != baseline) {
    verdict.caveats.push_back(absl::StrCat(
        "Speed-ups are against single: one process that computes ",
        baseline->runs[0]->shards == 1
            ? "the same batch"
            : absl::StrCat("the same ", baseline->runs[0]->shards, " shards one after another"),
        ", so not the fastest run that one machine could make. The global batch is the same for "
        "all (strong scaling)."));
  }
  AddNotes(study, verdict);
}

}  // namespace

Verdict MakeVerdict(const Study& study) {
  Verdict verdict;
  for (const StrategySummary& strategy : study.strategies) {
    for (const RunResult* run : strategy.failed) {
      verdict.failures.push_back(absl::StrCat(strategy.strategy, ", repetition ",
                                              run->repetition + 1, ", failed: ", run->failure));
    }
  }
  SayThroughput(study, verdict);
  if (verdict.sentences.empty()) {
    verdict.sentences.push_back("No run succeeded: there are no figures.");
    return verdict;
  }
  SayTarget(study, verdict);
  SayAccuracy(study, verdict);
  AddCaveats(study, verdict);
  return verdict;
}

}  // namespace crossover::experiments
