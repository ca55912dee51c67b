#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_metric_bars.h"
#include "experiments/report/html/html_sections.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

// Whether those that synchronise were given the same; single is no way of synchronising. Nodes
// are what counts; on loopback all share one, and processes stand for the machines they would be.
std::string Equality(const std::vector<const StrategySummary*>& strategies) {
  std::set<int64_t> counts;
  std::vector<std::string> each;
  bool by_nodes = false;
  for (const StrategySummary* strategy : strategies) by_nodes |= strategy->runs[0]->nodes > 1;
  for (const StrategySummary* strategy : strategies) {
    if (strategy->strategy == "single") continue;
    const RunResult& run = *strategy->runs[0];
    const int64_t count = by_nodes ? run.nodes : run.workers + run.servers;
    counts.insert(count);
    each.push_back(absl::StrCat(strategy->strategy, " ", count));
  }
  if (counts.empty()) return "";
  const char* what = by_nodes ? "nodes" : "processes";
  return counts.size() == 1 ? absl::StrCat("Equal resources: each strategy that synchronises had ",
                                           *counts.begin(), " ", what, ", servers' own included.")
                            : absl::StrCat("Resources were not equal. In ", what,
                                           ", servers' own included: ", absl::StrJoin(each, ", "),
                                           ". Compare machine-seconds, not times alone.");
}

}  // namespace

std::string ResourcesSection(const Study& study) {
  const std::vector<const StrategySummary*> strategies = Succeeded(study);
  if (strategies.empty()) return "";
  const Metric& cost = MetricOf("machine_seconds_to_target");
  const std::string bars = MetricBars(study, cost, "machine-seconds");
  std::string out = absl::StrCat(
      "<p>", EscapeHtml(Equality(strategies)), "</p>\n",
      StrategyTable(strategies, {"nodes", "workers", "servers", "training_s", "machine_seconds",
                                 "machine_seconds_to_target", "peak_rss_bytes",
                                 "busiest_server_apply_ms", "shard_imbalance"}));
  if (!bars.empty()) {
    absl::StrAppend(
        &out, "<figure><h4>Cost of ", FormatAccuracy(strategies[0]->runs[0]->target_accuracy),
        " test accuracy</h4><figcaption>", Term(cost.key), ": bar, median; ", DescribeBars(study),
        " \"none\": the target was not reached.</figcaption>\n", bars, "</figure>\n");
  }
  return out + Note(
                   "Machine-seconds count each node once; on loopback they count one machine for "
                   "each process, which is an accounting unit and not a bill.");
}

}  // namespace crossover::experiments
